from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from handloop.client.decoding.pages import Undecodable
from handloop.informers.quarantine import Quarantine, store_key
from handloop.seams.logs import in_words
from support.doubles.recording_metrics import Instrument
from support.doubles.unspeakable import UNSPEAKABLE


def undecodable(name: str, rv: str = "1", *, namespace: str = "default") -> Undecodable:
    return Undecodable(namespace, name, rv, b'{"spec":{"replicas":"three\xff"}}', "Expected `int`, got `str`")


def test_an_object_is_reported_once_per_version() -> None:
    """The same object at the same version is logged once, another version again; its content is not shown."""
    told: list[Undecodable] = []
    gauge = Instrument()
    quarantine = Quarantine(kind="Foo", gauge=gauge)
    quarantine.on_undecodable(told.append)
    with capture_logs() as logs:
        for rv in ("1", "1", "2"):
            quarantine.add(undecodable("a", rv))
    assert [entry["resourceVersion"] for entry in logs] == ["1", "2"]
    assert logs[0]["key"] == "default/a"
    assert logs[0]["err"] == "Expected `int`, got `str`"
    assert logs[0]["once"]
    assert "three" not in str(logs)
    assert [one.resource_version for one in told] == ["1", "2"]
    assert (len(quarantine), gauge.value) == (1, 1)
    assert quarantine.is_quarantined("default/a")


def test_released_objects_are_no_longer_held() -> None:
    """An object that fits again, or is gone, leaves; others stay; unknown keys are ignored."""
    gauge = Instrument()
    quarantine = Quarantine(kind="Foo", gauge=gauge)
    quarantine.add(undecodable("a"))
    quarantine.add(undecodable("node", namespace=""))
    quarantine.release(["default/a", "default/unknown"])
    assert quarantine.keys() == ["node"]
    assert gauge.value == 1
    quarantine.release(["default/unknown"])
    assert gauge.values == [1, 2, 1]


def test_complete_list_decides_who_is_held() -> None:
    """After a list exactly its undecodable objects are held; those held before are not logged again."""
    told: list[Undecodable] = []
    quarantine = Quarantine(kind="Foo", gauge=Instrument())
    quarantine.on_undecodable(told.append)
    quarantine.add(undecodable("a"))
    quarantine.add(undecodable("b"))
    quarantine.replace([undecodable("b"), undecodable("c")])
    assert quarantine.keys() == ["default/b", "default/c"]
    assert [one.key_name for one in told] == ["a", "b", "c"]


def test_a_late_callback_gets_those_that_are_held() -> None:
    """Once each, at their newest version, and of later ones as other handlers do."""
    told: list[tuple[str, str]] = []
    quarantine = Quarantine(kind="Foo", gauge=Instrument())
    for one in (undecodable("a"), undecodable("gone"), undecodable("a", "2"), undecodable("b")):
        quarantine.add(one)
    quarantine.release(["default/gone"])
    quarantine.on_undecodable(lambda one: told.append((one.key_name, one.resource_version)))
    assert told == [("a", "2"), ("b", "1")]
    quarantine.add(undecodable("b"))
    quarantine.add(undecodable("b", "3"))
    assert told[2:] == [("b", "3")]


@pytest.mark.parametrize(
    "error", [RuntimeError("broken callback"), *UNSPEAKABLE], ids=lambda e: type(e).__name__
)
def test_callback_that_raises_does_not_stop_the_others(error: BaseException) -> None:
    """A broken callback is logged and the next one is called."""
    told: list[Undecodable] = []

    def broken(_: Undecodable) -> None:
        raise error

    quarantine = Quarantine(kind="Foo", gauge=Instrument())
    quarantine.on_undecodable(broken)
    quarantine.on_undecodable(told.append)
    with capture_logs() as logs:
        quarantine.add(undecodable("a"))
    assert len(told) == 1
    assert logs[1]["err"] == in_words(error, repr)


def test_store_key_is_that_of_the_object() -> None:
    """The key is namespace/name, or the bare name of a cluster-scoped object."""
    assert store_key(undecodable("a")) == "default/a"
    assert store_key(undecodable("a", namespace="")) == "a"
