"""Descriptions of settings from the engine, in the help of the classes that have them as fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import TypeVar

from flashkeep import _native

Class = TypeVar("Class", bound=type)


@lru_cache(maxsize=1)
def _settings() -> dict[str, tuple[str, str, str, str]]:
    return {key: (meaning, kind, valid, default) for key, meaning, kind, valid, default in _native.settings("")}


def documented(*sections: str, **others: str) -> Callable[[Class], Class]:
    """Adds to the doc comment of a dataclass what each field means, its unit or kind, what is valid and its default.

    Fields are settings of the first section that has them. ``others`` says what the remaining ones are.
    """

    def with_fields(of: Class) -> Class:
        lines = [str(of.__doc__).rstrip(), "", "Fields:"]
        for field in fields(of):
            lines += ["", f"    {field.name}", *(f"        {line}" for line in _told(field.name, sections, others))]
        of.__doc__ = "\n".join(lines) + "\n"
        return of

    return with_fields


def _told(name: str, sections: tuple[str, ...], others: dict[str, str]) -> list[str]:
    if name in others:
        return [others[name]]
    for section in sections:
        found = _settings().get(f"{section}.{name}" if section else name)
        if found is not None:
            meaning, kind, valid, default = found
            return [meaning, _values(kind, valid, default)]
    below = next((f"{section}.{name}" if section else name for section in sections), name)
    return [f"Settings of the section {below}."]


def _values(kind: str, valid: str, default: str) -> str:
    return f"{kind}; default: {default}" + (f"; valid: {valid}" if valid else "")


def explain(key: str) -> str:
    """Description by ``flashkeep settings`` of a setting or a section, by its dotted name.

    Raises BadInput for a name that no setting has.
    """
    lines = []
    for name, meaning, kind, valid, default in _native.settings(key):
        lines.append(f"{name}: {meaning}\n    {_values(kind, valid, default)}")
    return "\n".join(lines)
