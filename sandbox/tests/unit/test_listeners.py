from __future__ import annotations

import gc

from handloop_sandbox.listeners import Listeners


class _Ear:
    def __init__(self, heard: list[str], name: str) -> None:
        self._heard = heard
        self._name = name

    def hear(self) -> None:
        self._heard.append(self._name)


def test_all_are_called_in_order() -> None:
    """As they came, functions and methods; one that was removed no more."""
    listeners, heard = Listeners(), list[str]()
    weak = _Ear(heard, "weak")
    listeners.add(_Ear(heard, "strong").hear)
    listeners.add_weakly(weak.hear)
    listeners.add(lambda: heard.append("function"))
    listeners.tell()
    assert heard == ["strong", "weak", "function"]
    listeners.remove(weak.hear)
    listeners.tell()
    assert heard == ["strong", "weak", "function", "strong", "function"]


def test_what_is_known_weakly_may_go() -> None:
    """It is neither called nor counted then, and its state goes with the next new one."""
    listeners, heard = Listeners(), list[str]()
    for _ in range(10):
        listeners.add_weakly(_Ear(heard, "gone").hear)
    gc.collect()
    listeners.tell()
    assert (heard, len(listeners)) == ([], 0)
    listeners.add(lambda: None)
    assert len(listeners._found) == 1


def test_a_listener_may_add_another() -> None:
    """No listener is called with a lock held; one that comes meanwhile gets the next."""
    listeners, heard = Listeners(), list[str]()
    listeners.add(lambda: listeners.add(lambda: heard.append("later")))
    listeners.tell()
    assert heard == []
    listeners.tell()
    assert heard == ["later"]
