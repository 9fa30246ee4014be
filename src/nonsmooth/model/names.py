"""Names of contacts, elements, joints and switches: they become keys of files and parts of reports."""

from __future__ import annotations

import unicodedata

from nonsmooth.errors import ScenarioError

LONGEST = 200
# letters are kept in any script; refused are controls, separators of lines, halves of characters
CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
# and marks that turn the direction of the text around them
MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


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
