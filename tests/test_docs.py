"""Every Python block of README and docs runs as printed: the blocks of a page in order, in one namespace, in an empty folder."""

import hashlib
import re
import warnings
from pathlib import Path

import pytest

import nonsmooth as ns

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    """Line number and text of the Python blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        yield text[: match.start()].count("\n") + 2, match.group(1)


@pytest.mark.parametrize("page", [page for page in PAGES if list(blocks(page))], ids=lambda page: page.stem)
def test_blocks_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line, source in blocks(page):
            # compiled with the place of the block, so that a traceback names page and line
            exec(compile("\n" * (line - 1) + source, str(page), "exec"), namespace)  # noqa: S102 - our own pages


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_every_public_name_is_in_the_reference_with_an_example():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    examples = "\n".join(source for page in PAGES for _, source in blocks(page))
    for name in ns._PUBLIC:
        assert re.search(rf"\.{name}$", text, re.M), f"{name} is missing in docs/api.md"
        assert re.search(rf"\bns\.{name}\b", examples), f"{name} has no example"


def test_vendored_mathjax_is_what_was_released():
    folder = ROOT / "docs" / "_static" / "mathjax"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
