"""Errors: one class for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class FlashkeepError(Exception):
    """Any error of Flashkeep."""


class BadInput(FlashkeepError, ValueError):
    """The input cannot be used. The text says all of it; the attributes are its parts."""

    def __init__(
        self,
        text: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        field: str | None = None,
        reason: str | None = None,
        known: Sequence[str] = (),
        meant: str | None = None,
    ) -> None:
        super().__init__(text)
        #: File, or the name of the text.
        self.file = file
        #: Line, from 1.
        self.line = line
        #: Column in characters, from 1.
        self.column = column
        #: Dotted path of the setting, or the column of a trace.
        self.field = field
        #: What was found and why it will not do.
        self.reason = text if reason is None else reason
        #: What is known instead.
        self.known = list(known)
        #: The known name that was probably meant.
        self.meant = meant

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers send it to whoever waits for their results.
        return _bad_input, (str(self), {name: getattr(self, name) for name in _PARTS})


_PARTS = ("file", "line", "column", "field", "reason", "known", "meant")


def _bad_input(text: str, parts: dict[str, Any]) -> BadInput:
    return BadInput(text, **parts)


class DiskFailed(FlashkeepError, OSError):
    """A drive did not do what was asked: a media error, no room, no such part, files that are damaged."""


class CheckFailed(FlashkeepError):
    """Data came back wrong, or torture broke a rule. ``result`` has what was found: a Result, the Frame of a sweep, or
    a Campaign."""

    def __init__(self, text: str, result: Any = None) -> None:
        super().__init__(text)
        self.result = result
