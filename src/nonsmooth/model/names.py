"""Names of contacts, elements, joints and switches: they become keys of files and parts of reports."""

from __future__ import annotations

import unicodedata
from typing import Any

from nonsmooth.errors import InputError, ScenarioError

LONGEST = 200
# letters are kept in any script; refused are controls, separators of lines, halves of characters
CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
# and marks that turn the direction of the text around them
MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def check_label(label: Any, what: str) -> None:
    """Refuse what is no text, or a text that `check_name` refuses; None is no label."""
    if label is None:
        return
    if not isinstance(label, str):
        raise InputError(f"{what} is {label!r}: text is wanted.")
    check_name(label, what)


def check_name(name: str, what: str) -> None:
    """Refuse a name that could not be written to a file or would be shown as something else."""
    if len(name) > LONGEST:
        raise ScenarioError(
            f"the name of {what} has {len(name)} characters ({name[:20]!a}...): at most {LONGEST} are wanted."
        )
    for character in name:
        if character == "/" or character in MARKS or unicodedata.category(character) in CATEGORIES:
            raise ScenarioError(
                f"the name {name!a} of {what} contains {character!a}: '/', control characters and direction marks are not "
                "allowed in names."
            )


def short(thing: Any) -> str:
    """How something with a name shows itself: its class and its name."""
    kind = type(thing).__name__
    return f"<{kind} {thing.name!r}>" if thing.name else f"<{kind}>"
