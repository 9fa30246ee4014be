"""Names and titles that users give: they become keys of files, parts of reports and words of messages on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from nonsmooth.errors import InputError, ScenarioError

LONGEST = 200
# letters are kept in any script; refused are controls, separators of lines, halves of characters
CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
# and marks that turn the direction of the text around them
MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class Label:
    """A field for a name that may be left out (None), checked whenever it is set.

    With `several` it may also be a sequence with one name for each row.
    """

    def __init__(self, several: bool = False):
        self.several = several

    def __set_name__(self, owner: type, field: str) -> None:
        self.field, self.kept = field, f"_given_{field}"

    def __get__(self, thing: Any, owner: type | None = None) -> Any:
        return (
            None if thing is None else getattr(thing, self.kept, None)
        )  # on the class: the default of a dataclass

    def __set__(self, thing: Any, given: Any) -> None:
        what = f"`{self.field}` of a {type(thing).__name__}"
        listed = self.several and isinstance(given, Sequence) and not isinstance(given, str | bytes)
        for label in given if listed else [given]:
            check_label(label, what)
        object.__setattr__(thing, self.kept, given)


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
            f"{what}: the name {name[:20]!a}... has {len(name)} characters; at most {LONGEST} are wanted."
        )
    if "/" in name:
        raise ScenarioError(f"{what}: the name {name!a} contains '/', which is not allowed in names.")
    check_shown(name, what)


def check_shown(text: Any, what: str) -> None:
    """Refuse what is no text, or would be shown as something else; a title may be long and hold a '/'. None is no text."""
    if text is None:
        return
    if not isinstance(text, str):
        raise InputError(f"{what} is {text!r}: text is wanted.")
    if text.isascii() and text.isprintable():
        return
    for character in text:
        if character in MARKS or unicodedata.category(character) in CATEGORIES:
            raise ScenarioError(
                f"{what}: the name {text!a} contains {character!a}; control characters and direction marks are not allowed in "
                "names and titles."
            )


def short(thing: Any) -> str:
    """How something with a name shows itself: its class and its name."""
    kind = type(thing).__name__
    return f"<{kind} {thing.name!r}>" if thing.name else f"<{kind}>"
