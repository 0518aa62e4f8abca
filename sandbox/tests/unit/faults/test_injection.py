from __future__ import annotations

from handloop_sandbox.faults.fault import Error, Fault, Lag
from handloop_sandbox.faults.injection import Injection
from handloop_sandbox.faults.request_attributes import attributes_of
from handloop_sandbox.requests.request import Request, User

_GET = attributes_of(Request("GET", "/api/v1/pods"), User("alice"))


def _injection(fault: Fault, cleared: list[str] | None = None) -> Injection:
    clear = (cleared if cleared is not None else []).append
    return Injection(fault, "f1", ends_at=None, resource_version=120, clear=clear)


def test_some_are_spared_then_some_are_hit() -> None:
    """Skipped requests go through, count are hit, the rest goes through again."""
    injection = _injection(Error(skip=1, count=2))
    assert [injection.claim(_GET) for _ in range(5)] == [False, True, True, False, False]
    assert (injection.skipped, injection.hits, injection.is_spent) == (1, 2, True)


def test_without_a_count_there_is_no_end() -> None:
    """It hits until it is over."""
    injection = _injection(Error())
    assert all(injection.claim(_GET) for _ in range(5))
    assert not injection.is_spent
    injection.over = True
    assert not injection.claim(_GET)
    assert injection.hits == 5


def test_requests_that_are_not_meant_do_not_count() -> None:
    """Neither as spared nor as hit."""
    injection = _injection(Error(verbs=("create",), skip=1))
    assert not injection.claim(_GET)
    assert (injection.skipped, injection.hits) == (0, 0)


def test_a_lag_is_fixed_or_follows() -> None:
    """Without a number it shows the version at which it was asked for, else so many changes ago."""
    assert _injection(Lag()).newest_visible(150) == 120
    assert _injection(Lag()).newest_visible(110) == 110
    assert _injection(Lag(changes=5)).newest_visible(150) == 145
    assert _injection(Lag(changes=5)).newest_visible(103) == 100


def test_it_ends_with_its_context() -> None:
    """Leaving the `with` clears it."""
    cleared: list[str] = []
    with _injection(Error(), cleared) as injection:
        assert cleared == []
    assert cleared == [injection.id]


def test_it_is_listed_with_its_hits() -> None:
    """The document is the fault as it was asked for, with id and hits."""
    injection = _injection(Error(code=503, verbs=("list",)))
    injection.claim(_GET)
    assert injection.document() == {"id": "f1", "fault": "error", "code": 503, "verbs": ("list",), "hits": 1}
