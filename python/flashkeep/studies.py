"""Studies of reliability: formulas, no simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Union

from flashkeep import _native

Option = Union[str, int, float]


class Study:
    """What a study gave: its tables by name, each a list of rows."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: What ``flashkeep reliability STUDY --json`` prints.
        self.document = document

    @property
    def title(self) -> str:
        """What it is about."""
        return str(self.document["title"])

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Rows by name of the table."""
        return dict(self.document["tables"])


def study(name: str, **options: Option | Sequence[Option]) -> Study:
    """Runs a study (``names("studies")``). Options are those of ``flashkeep reliability``, with
    ``_`` for ``-``; one that takes several values takes a list."""

    def text(value: Option | Sequence[Option]) -> str:
        if isinstance(value, (str, int, float)):
            return str(value)
        return ",".join(map(str, value))

    given = [(key.replace("_", "-"), text(value)) for key, value in options.items()]
    return Study(json.loads(_native.study(name, given)))
