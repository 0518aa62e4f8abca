from __future__ import annotations

import pytest

from handloop.controller.runtime.guards import name_table
from handloop.controller.runtime.guards.name_table import NameTable
from handloop.informers.keys import ObjectName

A, B, C = (ObjectName("default", name) for name in "abc")


def test_values_are_put_taken_and_forgotten_by_name() -> None:
    """Of a name without a value nothing comes."""
    table: NameTable[int] = NameTable()
    table.put(A, 1)
    table.put(B, 2)
    assert (table.get(A), table.get(C), table.pop(B), table.pop(B)) == (1, None, 2, None)
    table.put(B, 3)
    table.forget_names(lambda name: name == A)
    assert (table.get(A), table.get(B)) == (None, 3)


def test_the_names_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look counts as a use."""
    monkeypatch.setattr(name_table, "REMEMBERED", 2)
    table: NameTable[int] = NameTable()
    table.put(A, 1)
    table.put(B, 2)
    table.get(A)
    table.put(C, 3)
    assert (table.get(A), table.get(B), table.get(C)) == (1, None, 3)


def test_what_decides_may_ask_the_table() -> None:
    """It is asked without holding the lock."""
    table: NameTable[int] = NameTable()
    table.put(A, 1)
    table.forget_names(lambda name: table.get(name) == 1)
    assert table.get(A) is None
