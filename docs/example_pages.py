"""Gallery pages of the examples: their docstrings as headed text, and their runs as moving pictures.

Examples are plain scripts; sphinx-gallery wants a headed docstring, so that it is given copies.
"""

import ast
import shutil
import tempfile
from pathlib import Path

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
    """The run called `result` of an example as a moving picture, where its model has shapes."""
    result = block_vars["example_globals"].get("result")
    if block[0] != "code" or getattr(result, "animate", None) is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            result.animate(Path(folder) / "run.gif", seconds=4, fps=12, size=(400, 300))
        except ValueError:  # no shapes: plots only
            return ""
        # a name from the iterator can be the thumbnail
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
        path.parent.mkdir(exist_ok=True)
        shutil.move(Path(folder) / "run.gif", path)
    place = path.relative_to(Path(gallery_conf["src_dir"])).as_posix()
    return f"\n.. image:: /{place}\n   :alt: the run, animated\n\n"
