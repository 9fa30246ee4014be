"""Digests of sources: independent of the place, changed by every edit that matters."""

import shutil

from nonsmooth._core.source_keys import CORE, Sources

FILES = {
    "__init__.py": "",
    "a/__init__.py": "",
    "a/top.py": "from nonsmooth._core.b.helper import (\n    one,\n    two,\n)",
    "b/__init__.py": "",
    "b/helper.py": "def one():\n    from .deep import three",
    "b/deep.py": "import nonsmooth._core.constants",
    "constants.py": "from nonsmooth._core import b",
    "other.py": "from nonsmooth._core.a import top",
}


def test_a_file_depends_on_what_it_imports_and_on_nothing_else(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = Sources(tmp_path)
    for name in FILES:
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text + " # edited")
        now = Sources(tmp_path)
        assert not before.unchanged() and now.digest != before.digest
        differs = now.digest_of(tmp_path / "a" / "top.py") != before.digest_of(tmp_path / "a" / "top.py")
        assert differs == (name not in ("a/__init__.py", "other.py")), name
        (tmp_path / name).write_text(text)


def test_digests_of_the_core_do_not_depend_on_its_place(tmp_path):
    shutil.copytree(CORE, tmp_path / "core")
    here, there = Sources(), Sources(tmp_path / "core")
    loop = ("stepping", "moreau.py")
    assert there.digest == here.digest != here.digest_of(CORE.joinpath(*loop))
    assert there.digest_of((tmp_path / "core").joinpath(*loop)) == here.digest_of(CORE.joinpath(*loop))
    (tmp_path / "core" / "linalg" / "small.py").rename(tmp_path / "core" / "linalg" / "tiny.py")
    assert Sources(tmp_path / "core").digest != here.digest
