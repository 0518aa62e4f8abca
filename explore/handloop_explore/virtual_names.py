"""
Replaces names of the standard library with those of a world, which has its own time, threads and randomness.

A name such as time.monotonic is replaced in its module, and in each module that imported it, for example with
`from time import monotonic`. Functions that use these names then belong to the world, too: secrets, uuid4,
queue.Queue, Semaphore, Timer, ThreadPoolExecutor, and asyncio's loops.
"""

from __future__ import annotations

import os
import queue
import random
import selectors
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from random import Random
from types import FunctionType
from typing import Any, Final

_UPTIME: Final = 1e6
"""The first value of time.monotonic(), as on a machine that has been up for eleven days."""
_LONGEST_LOOK_SECONDS: Final = 1.0
"""The longest pause between two checks in select(), in which other virtual threads can make a file ready."""

_Place = tuple[Any, str]
_OURS: Final = (
    *("handloop", "handloop_explore", "handloop_sandbox", "greenlet"),
    *("_pytest", "pytest", "xdist", "execnet"),
)
"""The modules that run a world. They use the real names."""
_SCANNED: Final[set[str]] = set()
_IMPORTED: Final[list[tuple[_Place, _Place]]] = []
"""
The modules searched so far, and the imports found in them. An import is stored as its own place, and the
place of the imported name.
"""


class VirtualNames:
    """
    The names that one world replaces.

    State: _random, the state of the random module's generator that is not in use: the real state while the
    names are replaced, the world's at other times; _before, each name's real value. Threads: names are
    virtual only in the real thread that created this object.
    """

    def __init__(self, world: Any, threads: Mapping[str, Callable[..., Any]], seed: int) -> None:
        """Args: world: a VirtualThreads; threads: replaces threading's names; seed: for all randomness."""
        self._world = world
        self._is_here = False
        self._real = threading.get_ident()
        self._bytes = Random(f"bytes {seed}").randbytes
        self._random = Random(seed).getstate()
        made = {(threading, name): one for name, one in threads.items() if "." not in name}
        methods = {(threading.Thread, name[7:]): one for name, one in threads.items() if "." in name}
        functions: dict[_Place, Callable[..., Any]] = {**made, **methods, **self._times(), **self._chance()}
        self._before: dict[_Place, Any] = {(owner, name): getattr(owner, name) for owner, name in functions}
        # This stays the real function while the name is replaced.
        self._get_ident = threading.get_ident
        self._made: dict[_Place, Any] = {
            place: self._here(one, self._before[place]) for place, one in functions.items()
        }
        # uuid1 uses neither the machine's generator nor its last timestamp in the world.
        self._made |= {(uuid, "_generate_time_safe"): None, (uuid, "_last_timestamp"): None}
        # In Python 3.14, uuid6 and uuid7 also remember their last timestamps.
        memories = ("_last_timestamp_v6", "_last_timestamp_v7")
        self._made |= {(uuid, name): None for name in memories if hasattr(uuid, name)}
        self._made[queue, "SimpleQueue"] = queue._PySimpleQueue  # type: ignore[attr-defined] # noqa: SLF001
        self._before |= {place: getattr(*place) for place in self._made}
        for place, origin in _imported(self._before):
            self._before[place], self._made[place] = self._before[origin], self._made[origin]

    def enter(self) -> None:
        """Replace the names with the world's."""
        self._is_here = True
        self._swap(self._made)

    def leave(self) -> None:
        """Restore the real names."""
        self._is_here = False
        self._swap(self._before)

    def _swap(self, names: Mapping[_Place, Any]) -> None:
        for (owner, name), value in names.items():
            setattr(owner, name, value)
        before = random.getstate()
        random.setstate(self._random)
        self._random = before

    def _here(self, made: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls `made` in the world's real thread, and `real` in other threads."""
        get_ident, here = self._get_ident, self._real

        def called(*arguments: Any, **options: Any) -> Any:
            return (made if self._is_here and get_ident() == here else real)(*arguments, **options)

        called.real = real  # type: ignore[attr-defined] # a module imported in the meantime keeps this one
        return called

    def _times(self) -> dict[_Place, Callable[..., Any]]:
        world = self._world
        gmtime, localtime, strftime = time.gmtime, time.localtime, time.strftime

        def unix() -> float:
            return float(world.epoch + world.read())

        def monotonic() -> float:
            return _UPTIME + float(world.read())

        def in_whole(clock: Callable[[], float]) -> Callable[[], int]:
            return lambda: int(clock() * 1e9)

        named: dict[str, Callable[..., Any]] = {
            "sleep": world.sleep,
            "gmtime": lambda seconds=None: gmtime(unix() if seconds is None else seconds),
            "localtime": lambda seconds=None: localtime(unix() if seconds is None else seconds),
            "strftime": lambda form, at=None: strftime(form, localtime(unix()) if at is None else at),
        }
        for name, clock in {"time": unix, "monotonic": monotonic, "perf_counter": monotonic}.items():
            named |= {name: clock, f"{name}_ns": in_whole(clock)}
        return {
            **{(time, name): one for name, one in named.items()},
            (threading, "_time"): monotonic,
            (queue, "time"): monotonic,
            (selectors.DefaultSelector, "select"): self._select(selectors.DefaultSelector.select),
        }

    def _chance(self) -> dict[_Place, Callable[..., Any]]:
        seed_by = Random.seed

        def seed(generator: Random, a: Any = None, version: int = 2) -> None:
            seed_by(generator, int.from_bytes(self._bytes(32)) if a is None else a, version)

        return {
            **dict.fromkeys(((os, "urandom"), (random, "_urandom")), self._bytes),
            (Random, "seed"): seed,
        }

    def _select(self, real: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        """Return a select() that waits in virtual time, and lets other virtual threads run."""

        def select(selector: Any, timeout: float | None = None) -> list[Any]:
            left, pause = float("inf") if timeout is None else timeout, 1e-3
            while not (found := real(selector, 0)) and left > 0:
                self._world.sleep(min(left, pause))
                left, pause = left - pause, min(2 * pause, _LONGEST_LOOK_SECONDS)
            return found

        return select


def _imported(places: Mapping[_Place, Any]) -> Iterator[tuple[_Place, _Place]]:
    """Return each place outside the standard library that imported one of the names, with that name."""
    values = {id(value): place for place, value in places.items() if callable(value)}

    def origin(one: Any) -> _Place | None:
        real = one.__dict__.get("real") if isinstance(one, FunctionType) else None
        return values.get(id(one)) or values.get(id(real))

    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        if name in _SCANNED or top in sys.stdlib_module_names or top in _OURS:
            continue
        _SCANNED.add(name)
        found = [(key, place) for key, one in list(vars(module).items()) if (place := origin(one))]
        _IMPORTED.extend(((module, key), place) for key, place in found)
    return iter(_IMPORTED)
