"""Each place shows its traceback once."""

from __future__ import annotations

import pytest

from handloop.seams.traceback_places import TracebackPlaces


def caught(kind: type[Exception], *, elsewhere: bool = False) -> Exception:
    """An error from one of two places."""
    with pytest.raises(kind) as here:
        raise kind("x")
    with pytest.raises(kind) as there:
        raise kind("y")
    return there.value if elsewhere else here.value


def test_a_place_is_a_type_and_a_line() -> None:
    """The same error again is known; another type, or another line, is not."""
    places = TracebackPlaces()
    first = [caught(KeyError), caught(ValueError), caught(KeyError, elsewhere=True), KeyError("never raised")]
    assert all(places.is_new(error) for error in first)
    assert not any(places.is_new(error) for error in (caught(KeyError), *first))


def test_memory_is_bounded() -> None:
    """After a thousand places it starts over."""
    places = TracebackPlaces()
    for number in range(1000):
        assert places.is_new(type(f"Error{number}", (Exception,), {})())
    assert places.is_new(caught(KeyError))
    assert len(places._seen) == 1
