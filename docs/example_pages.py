"""Gallery pages of the examples: their docstrings as headed text, and their runs as moving pictures.

Examples are plain scripts; sphinx-gallery wants a headed docstring, so that it is given copies.
"""

import ast
import shutil
import tempfile
from pathlib import Path

from nonsmooth import Result, problems
from nonsmooth.errors import InputError

DOCS = Path(__file__).parent
COPIES = DOCS / "_build" / "examples"
HEAD = """Examples
========

Scripts of the folder ``examples``, run when these pages were made. Each is a test too.
"""


def copy_examples() -> str:
    """Copies of the examples with a heading over their text. Returns the folder."""
    COPIES.mkdir(parents=True, exist_ok=True)
    for old in COPIES.iterdir():
        old.unlink()
    (COPIES / "README.rst").write_text(HEAD, encoding="utf-8")
    for script in sorted((DOCS.parent / "examples").glob("*.py")):
        source = script.read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source))
        end = source.index('"""', 3) + 3
        title, _, rest = text.replace("|", "\\|").partition("\n")  # |u| is a size here, not a substitution
        title = title.rstrip(".")
        headed = f'r"""\n{title}\n{"=" * len(title)}\n{rest}\n"""'
        (COPIES / script.name).write_text(headed + source[end:], encoding="utf-8")
    return str(COPIES)


def moving_scene(block, block_vars, gallery_conf) -> str:
    """The run of an example as a moving picture, with its own shapes or those of the benchmark problem of the same name."""
    result = _run_of(block_vars["example_globals"])
    if block[0] != "code" or result is None:
        return ""
    name = Path(block_vars["src_file"]).stem
    shapes = problems.get(name).system.draw if name in problems.names() else None
    with tempfile.TemporaryDirectory() as folder:
        try:
            result.animate(Path(folder) / "run.gif", seconds=4, fps=12, size=(400, 300), draw=shapes)
        except InputError:  # no shapes: plots only
            return ""
        # a name from the iterator can be the thumbnail
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
        path.parent.mkdir(exist_ok=True)
        shutil.move(Path(folder) / "run.gif", path)
    place = path.relative_to(Path(gallery_conf["src_dir"])).as_posix()
    return f"\n.. image:: /{place}\n   :alt: the run, animated\n\n"


def _run_of(names):
    """What an example calls `result`, or the first run it keeps."""
    kept = [names.get("result"), *names.values()]
    kept += [run for value in kept if isinstance(value, dict | list | tuple) for run in _values(value)]
    return next((run for run in kept if isinstance(run, Result) and run.t.size > 1), None)


def _values(several):
    return list(several.values()) if isinstance(several, dict) else list(several)
