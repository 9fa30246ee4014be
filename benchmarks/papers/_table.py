"""What the scripts of this folder share: a table "paper | here" and the folder for pictures."""

from pathlib import Path

OUT = Path(__file__).parent / "out"
IMG = Path(__file__).parents[2] / "docs" / "img"  # pictures that the documentation shows


def show(title, rows):
    """Print rows of (what, paper, here)."""
    print(title)
    width = max(len(str(row[0])) for row in rows)
    print(f"  {'':{width}} | {'paper':>28} | here")
    for what, paper, here in rows:
        print(f"  {what:{width}} | {paper!s:>28} | {here}")


def figure(*shape, size=(9.0, 6.0)):
    """A figure without pyplot, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=size, dpi=120, layout="constrained")
    FigureCanvasAgg(picture)
    return picture, picture.subplots(*shape)


def save(picture, name, docs=False):
    """Into the folder of this run; with `docs` a smaller one into the documentation, too."""
    OUT.mkdir(exist_ok=True)
    picture.savefig(OUT / name)
    if docs:
        picture.savefig(IMG / name, dpi=80)
    print(f"  picture: out/{name}")
