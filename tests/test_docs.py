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


def headings(page):
    """Anchors of the headings of a page, as MyST makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
            goal = page.parent / target if target else page
            assert goal.exists(), f"{page.name} links to {target}, which does not exist"
            if anchor:
                assert anchor in headings(goal), (
                    f"{page.name} links to {target}#{anchor}, which is no heading"
                )


def test_files_that_pages_name_exist():
    made = "benchmarks/papers/out/"
    for page in PAGES:
        named = re.findall(
            r"`((?:tests|benchmarks|examples|docs|tools)/[\w./-]+)`", page.read_text(encoding="utf-8")
        )
        missing = [name for name in named if name != made and not (ROOT / name).exists()]
        assert not missing, f"{page.name} names {missing}"


def test_every_page_is_in_the_table_of_contents():
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split()
    missing = [
        page.stem for page in PAGES if page.stem not in listed and page.stem not in ("README", "index")
    ]
    assert not missing


EXAMPLES = "\n".join(source for page in PAGES for _, source in blocks(page))


def test_every_public_name_is_in_the_reference_with_an_example():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in ns._PUBLIC:
        assert re.search(rf"\.{name}$", text, re.M), f"{name} is missing in docs/api.md"
    for name in ns.__all__:
        assert re.search(rf"\bns\.{name}\b", EXAMPLES), f"{name} has no example"


def public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def test_every_method_and_shape_has_an_example():
    """Schemes and problems by name, what results and plots offer, shapes of a scene, what extensions stand on."""
    from nonsmooth import extend
    from nonsmooth.results.plotter import Plotter
    from nonsmooth.results.views import Pictured

    methods = [name for name in public(ns.Result) + public(Pictured) if name not in ("unfinished",)]
    shapes = [
        name
        for name, value in vars(ns.draw).items()
        if isinstance(value, type) and value.__module__ == ns.draw.__name__
    ]
    example = (ROOT / "examples" / "symplectic_euler.py").read_text(encoding="utf-8")
    wanted = {
        **{f"method {name}": rf'"{name}"' for name in ns.METHODS},
        **{f"problem {name}": rf"problems\.{name}\(" for name in ns.problems.names()},
        **{f"Result.{name}": rf"\.{name}\b" for name in methods},
        **{f"plot.{name}": rf"\.plot\.{name}\(" for name in public(Plotter)},
        **{f"draw.{name}": rf"draw\.{name}\(" for name in shapes if name != "Shape"},
        **{
            f"World.{name}": rf"\.{name}\b"
            for name in public(ns.World)
            if callable(getattr(ns.World, name)) and name != "running"
        },
        **{f"extend.{name}": rf"\b{name}\b" for name in extend.__all__ if callable(getattr(extend, name))},
    }
    for name, pattern in wanted.items():
        assert re.search(pattern, EXAMPLES + example), f"{name} has no example"


def test_every_error_and_warning_is_in_the_page_of_messages():
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    for name, value in vars(ns.errors).items():
        if isinstance(value, type) and issubclass(value, (Exception, Warning)):
            assert f"`{name}`" in text, f"{name} is missing in docs/troubleshooting.md"


def test_messages_on_that_page_are_those_of_the_library():
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    rows = re.findall(r"^\| (`[^|]*`) \| `\w+(?:Error|Warning)` \|", text, re.M)
    assert len(rows) > 30
    for row in rows:
        for message in re.findall(r"`([^`]+)`", row):
            for part in message.split(" ... "):
                assert part in sources, f"no message of the library contains {part!r}"


def test_vendored_mathjax_is_what_was_released():
    folder = ROOT / "docs" / "_static" / "mathjax"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
