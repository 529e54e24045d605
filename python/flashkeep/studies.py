"""Studies of reliability: formulas, no simulation."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any, Union

from flashkeep import _native

Option = Union[str, int, float]


class Study:
    """Results of a study: its tables by name, each a list of rows."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: What ``flashkeep reliability STUDY --json`` prints.
        self.document = document

    @property
    def title(self) -> str:
        """Subject of the study."""
        return str(self.document["title"])

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Rows by name of the table."""
        return dict(self.document["tables"])

    def __repr__(self) -> str:
        return f"<Study: {self.title}; tables {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        """Its tables, for notebooks."""
        out = f"<p>{html.escape(self.title)}</p>"
        for name, rows in self.tables.items():
            head = "".join(f"<th>{html.escape(column)}</th>" for column in (rows[0] if rows else ()))
            cells = ("".join(f"<td>{_cell(value)}</td>" for value in row.values()) for row in rows)
            body = "".join(f"<tr>{row}</tr>" for row in cells)
            out += f"<p>{html.escape(name)}</p><table><tr>{head}</tr>{body}</table>"
        return out


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))


def study(name: str, **options: Option | Sequence[Option]) -> Study:
    """Runs a study (``names("studies")``). Options are those of ``flashkeep reliability``, with
    ``_`` for ``-``; one that takes several values takes a list."""

    def text(value: Option | Sequence[Option]) -> str:
        if isinstance(value, (str, int, float)):
            return str(value)
        return ",".join(map(str, value))

    given = [(key.replace("_", "-"), text(value)) for key, value in options.items()]
    return Study(json.loads(_native.study(name, given)))
