"""Policies of your own: functions that an experiment calls where the engine would ask a policy of its registry.

They are for experiments that need not be fast: each question costs a call of Python, with its lock
(docs/python.md has the price). What a function answers must depend on nothing but what it is given: drives that
begin alike are prepared once and copied, and equal experiments are to give equal results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from flashkeep._native import Candidates, PageRead

#: Gives the place of the victim among the candidates, or None where none of them is worth collecting.
Collect = Callable[[Candidates], Optional[int]]


@dataclass(frozen=True, kw_only=True)
class PageEcc:
    """A policy of page ECC of your own, for ``Ecc(policy=...)``. Its codes are BCH codes.

    program:    is called with the number of a page and the P/E cycles of its block when the page is programmed; gives t,
                the bits that each codeword is to correct.
    strongest:  the greatest t that it gives: this code must fit beside each page.
    read:       hears of each page that was read (:class:`PageRead`); true where the page must be written again.
    """

    program: Callable[[int, int], int]
    strongest: int
    read: Callable[[PageRead], object] | None = None

    @property
    def __name__(self) -> str:
        return getattr(self.program, "__name__", type(self.program).__name__)


def named(policy: Any) -> Any:
    """Name of a policy in an experiment: its own, or that of the function."""
    if isinstance(policy, str) or policy is None:
        return policy
    return "python:" + str(getattr(policy, "__name__", type(policy).__name__))
