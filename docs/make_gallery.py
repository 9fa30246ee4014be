"""Make the gallery: one small picture per benchmark problem and the page that shows them.

Run from anywhere: ``python docs/make_gallery.py``. Writes docs/img/NAME.png and docs/gallery.md.
"""

from pathlib import Path

from nonsmooth import problems
from nonsmooth.problems.pictures import figure

DOCS = Path(__file__).parent

#: Step sizes that look good at the size of the pictures; the recommended one otherwise.
STEPS = {"impact_oscillator": 2e-4, "falling_ball": 5e-4}

HEAD = """# Gallery

Every benchmark problem with its picture, source and example. Lines are computed with Moreau's scheme, dots are
the reference. Strips show the mode of every law: black is *constraint* (closed, sticking), grey is *impressed*
(slipping), empty is open, red marks are impacts.

The same systems in motion: the pages under *Examples*, each with its script and its run as a moving picture.

The page is made by `python docs/make_gallery.py`.
"""


def entry(problem) -> str:
    """Section of one problem."""
    reference = "none" if problem.reference is None else problem.reference.origin
    return "\n".join(
        [
            f"## {problem.title}",
            "",
            problem.summary,
            "",
            f"![{problem.title}](img/{problem.name}.png)",
            "",
            "| | |",
            "| --- | --- |",
            f"| problem | `ns.problems.{problem.name}()`, `nonsmooth run {problem.name}` |",
            f"| example | `examples/{problem.name}.py` |",
            f"| reference | {reference} |",
            f"| source | {problem.source} |",
            "",
        ]
    )


def main() -> None:
    (DOCS / "img").mkdir(exist_ok=True)
    sections = [HEAD]
    for name in problems.names():
        problem = problems.get(name)
        if problem.kind != "mechanics":
            continue
        result = problem.simulate(dt=STEPS.get(name, problem.dt))
        picture = figure(problem, result)
        dpi = 100 if name == "woodpecker" else 75
        picture.savefig(DOCS / "img" / f"{name}.png", dpi=dpi, pil_kwargs={"optimize": True})
        sections.append(entry(problem))
    (DOCS / "gallery.md").write_text("\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
