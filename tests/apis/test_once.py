"""Results that are compared by identity."""

from __future__ import annotations

from handloop.apis.once import made_once


def test_who_asks_while_it_is_made_gets_the_same_as_the_maker() -> None:
    """The second thread is played by a call in the middle of the first one's."""
    others: list[object] = []

    @made_once
    def thing(name: str) -> object:
        if not others:
            others.append(None)
            others[0] = thing(name)
        return object()

    assert thing("a") is others[0] is thing("a")
    assert thing("b") is not thing("a")
