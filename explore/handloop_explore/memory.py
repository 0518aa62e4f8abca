"""
Resets the state that an operator has outside its set-up, because a real process loses it when it exits.

    MADE: set[str] = set()      # in a module, a class, a closure, a default, an object, a function's cache

All processes of a run are played in one real process, which would keep this state. The state is therefore
collected once, by following the names that the code mentions, starting with set_up. Each process then starts
with the collected state.
"""

from __future__ import annotations

import copy
import functools
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

Convert: TypeAlias = Callable[[Any], Any]

_MOST_OBJECTS: Final = 20_000
_LIBRARY: Final = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
_NOT_FOLLOWED: Final = (
    "handloop",
    "handloop_explore",
    "handloop_sandbox",
    "logging",
    "structlog",
    "msgspec",
    "_pytest",
    "pytest",
)
_OF_THREADS: Final = ("threading", "queue", "concurrent")
_CODE: Final = (FunctionType, BuiltinFunctionType, ModuleType, type)
_CACHED: Final = type(functools.lru_cache(len))


class _Part(NamedTuple):
    """A part of the state. of: the object that has it; inner: its contents; put: a function to restore it."""

    of: Any
    inner: Iterable[Any]
    put: Callable[[Convert], object] = lambda _: None


class Memory:
    """
    The state that code refers to, as it was at construction. Field: codes, the code of all functions found.

    State: _lasting, the ids of objects that the operator shares with others. Threads: used by one thread.
    """

    def __init__(self, code: Callable[..., Any], outside: Iterable[object] = ()) -> None:
        """
        Collect the state.

        Args: code: the operator's set-up; outside: objects that outlive the operator, and the functions of
        steps and invariants.
        """
        self._top = getattr(code, "__module__", "").partition(".")[0]
        self.codes: set[CodeType] = set()
        others = self._found(list(outside))
        self._lasting = {id(part.of) for part in others}
        self.codes.clear()
        self._parts = others + self._found([code])

    def restore(self, convert: Convert = lambda value: value, *, lasting: bool = False) -> None:
        """
        Restore the state.

        Args: convert: returns the value to use in place of a saved one; lasting: whether to also restore the
        state that the operator shares with others.
        """
        for part in self._parts:
            if lasting or id(part.of) not in self._lasting:
                part.put(convert)

    def _found(self, left: list[Any]) -> list[_Part]:
        seen: dict[int, Any] = {}  # keeps the objects, because a deleted object's id can be reused
        found: list[_Part] = []
        while left and len(seen) < _MOST_OBJECTS:
            value = left.pop()
            if id(value) in seen or (isinstance(value, FunctionType | type) and not self._is_authors(value)):
                continue
            seen[id(value)] = value
            self.codes |= set(_codes(value.__code__)) if isinstance(value, FunctionType) else set()
            for part in _parts(value):
                left += part.inner
                found.append(part)
        return found

    def _is_authors(self, value: Any) -> bool:
        top = _top(value)
        file = getattr(sys.modules.get(value.__module__), "__file__", None) or ""
        return _is_followed(top) and (top == self._top or not file.startswith(_LIBRARY))


def _parts(value: Any) -> Iterator[_Part]:
    """Yield the parts of a value that can change, each with its contents."""
    if isinstance(value, FunctionType):
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        yield _Part(value, [*(value.__closure__ or ()), *defaults])
        yield from _mentioned(value)
    elif isinstance(value, MethodType):
        yield _Part(value, (value.__func__, value.__self__))
    elif isinstance(value, CellType):
        yield from _bound(value, "cell_contents")
    elif isinstance(value, type):
        for name, one in list(vars(value).items()):
            yield _Part(value, [getattr(one, "__func__", None) or getattr(one, "fget", None)])
            yield from () if name.startswith("__") else _bound(value, name)
    elif isinstance(value, _CACHED):
        yield _Part(value, [value.__wrapped__], lambda _: value.cache_clear())
    elif isinstance(value, tuple):
        yield _Part(value, value)
    elif isinstance(value, dict | list | set | deque) and _top(type(value)) != "handloop":
        yield _members(value, value)
    elif not isinstance(value, ModuleType) and _is_followed(
        _top(type(value)), "threading", "queue", "concurrent"
    ):
        yield _Part(value, [type(value)])
        yield from [_members(vars(value), value)] if hasattr(value, "__dict__") else ()


def _mentioned(function: FunctionType) -> Iterator[_Part]:
    """Yield the parts that a function mentions by name, in its own module and in others."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            yield from _bound(function.__globals__, name)
        elif _is_followed(_top(value)):
            for other in names & vars(value).keys():
                yield from _bound(vars(value), other)


def _bound(holder: Any, name: str) -> Iterator[_Part]:
    """Yield the value of a name in a module or class, or of a closure's cell, as a part."""

    def put(convert: Convert) -> None:
        if isinstance(value, _CODE):
            return
        wanted = convert(copy.copy(kept) if kept is not value else value)
        if isinstance(holder, dict):
            holder[name] = wanted
        elif getattr(holder, name, None) is not wanted:
            setattr(holder, name, wanted)

    try:
        value = holder[name] if isinstance(holder, dict) else getattr(holder, name)
    except ValueError:  # an empty cell
        return
    # a counter changes by itself
    kept = copy.copy(value) if _top(type(value)) == "itertools" else value
    yield _Part(value, [value], put)


def _members(holder: Any, of: Any) -> _Part:
    """Return the part for a container. Args: of: the object to which the container belongs."""
    members = copy.copy(holder)

    def put(convert: Convert) -> None:
        holder.clear()
        if isinstance(holder, dict):
            holder.update({key: convert(one) for key, one in members.items()})
        elif isinstance(holder, set):
            holder.update(members)
        else:
            holder.extend(map(convert, members))

    return _Part(of, list(holder.values() if isinstance(holder, dict) else holder), put)


def _is_followed(top: str, *more: str) -> bool:
    return top in more or not (top in sys.stdlib_module_names or top in _NOT_FOLLOWED)


def _top(value: Any) -> str:
    name: str = value.__name__ if isinstance(value, ModuleType) else value.__module__ or ""
    return name.partition(".")[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and the code of everything defined in it."""
    yield code
    for one in code.co_consts:
        yield from _codes(one) if isinstance(one, CodeType) else ()
