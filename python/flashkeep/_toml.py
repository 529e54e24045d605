"""Settings as TOML text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from flashkeep.errors import BadInput

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dumps(settings: Mapping[str, Any]) -> str:
    """Plain settings first, then a section for each table; tables inside are written in line."""
    plain = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for name, table in settings.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise BadInput(f"found {key!r}, the name of a setting is a text")
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # A JSON text is a TOML text, but for the one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise BadInput(f"found {value!r}, a setting is a text, a finite number, a truth value, a list or a table of these")
