"""Objects with rows, as columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flashkeep import _native


class Framed(ABC):
    """Something with a frame that polars, pandas, pyarrow and DuckDB take as one."""

    @property
    @abstractmethod
    def frame(self) -> _native.Frame:
        """The rows as columns."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.frame.columns

    @property
    def types(self) -> dict[str, str]:
        """Type of the values of each column: ``text``, ``whole number``, ``number`` or ``truth value``; any may be None."""
        return self.frame.types

    def filter(self, **wanted: Any) -> _native.Frame:
        """The rows whose columns have these values, or, where a list, tuple or set is given, one of them."""
        return self.frame.filter(**wanted)

    def to_polars(self) -> Any:
        """The rows as a frame of polars."""
        return self.frame.to_polars()

    def to_pandas(self) -> Any:
        """The rows as a frame of pandas."""
        return self.frame.to_pandas()

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, column: str) -> list[Any]:
        return self.frame[column]
