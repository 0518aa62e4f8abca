"""Caches a function whose results are compared by identity. Equal arguments always return the same object."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def made_once(make: F) -> F:
    """
    Cache a function like functools.cache, but give concurrent threads the same result.

    The function may still be called twice. Its arguments must be positional and hashable.
    Threads: any thread can call the cached function.
    """
    made: dict[tuple[Hashable, ...], Any] = {}

    @wraps(make)
    def get(*key: Hashable) -> Any:
        # Because setdefault is atomic, all threads get the first result.
        return made[key] if key in made else made.setdefault(key, make(*key))

    return cast("F", get)
