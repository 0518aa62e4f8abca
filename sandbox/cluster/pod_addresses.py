"""The IP addresses of simulated pods."""

from __future__ import annotations

from itertools import count

_PER_BLOCK = 250
_BLOCKS = 256


class PodAddresses:
    """
    Hands out addresses of 10.244.0.0/16, each to one pod at a time.

    Invariant: _used holds what is handed out; a number is used again only after all others.
    """

    def __init__(self) -> None:
        self._next = count(1)
        self._used: set[str] = set()

    def take(self, wanted: str = "") -> str:
        """An address: the wanted one if it is given, else the next that is free."""
        address = wanted or self._fresh()
        while address in self._used and not wanted:
            address = self._fresh()
        self._used.add(address)
        return address

    def give_back(self, address: str) -> None:
        """The pod has gone."""
        self._used.discard(address)

    def _fresh(self) -> str:
        number = next(self._next)
        return f"10.244.{number // _PER_BLOCK % _BLOCKS}.{number % _PER_BLOCK + 2}"
