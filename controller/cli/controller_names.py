"""The names that `--controllers` takes, known without loading a controller."""

from __future__ import annotations

import difflib
from typing import Final

ALL: Final = "*"
NAMES: Final = ("foo", "myapp")


def controller_names(text: str) -> tuple[str, ...]:
    """
    A list such as `foo,myapp`, or `*` for all, in the order of the registry.

    Raises: ValueError for a name that there is not, with the one that was probably meant.
    """
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name != ALL and name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; have: {', '.join(NAMES)}"
            raise ValueError(f'unknown controller "{name}"{hint}')
    if not wanted:
        raise ValueError(f"at least 1 controller is needed; have: {', '.join(NAMES)}")
    return NAMES if ALL in wanted else tuple(name for name in NAMES if name in wanted)
