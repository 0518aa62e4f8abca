"""Who keeps the objects of other slots away: told for all informers in one line, and by readiness."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from handloop.controller.runtime.sharding.narrowing import Narrowing
from handloop.informers.sharding.held_slots import HeldSlots
from support.checks.captured_logs import captured_logs


def informer(name: str, by: str, *, sharded: bool = True, error: str = "") -> Any:
    """An informer that has found out so much."""
    return SimpleNamespace(
        name=name,
        restriction=SimpleNamespace(restricts=sharded, narrowed_by=by),
        statistics=lambda: SimpleNamespace(reflector=SimpleNamespace(last_error=error)),
    )


class Rig:
    """Informers of a replica with one of four slots."""

    def __init__(self, *informers: Any) -> None:
        self.held = HeldSlots(4)
        self.held.add(1)
        self.informers = list(informers)
        self.narrowing = Narrowing(self.held, lambda: self.informers)

    def told(self) -> list[dict[str, Any]]:
        """The new lines of the log."""
        with captured_logs() as entries:
            self.narrowing.report()
            self.narrowing.report()
        return [
            {key: each[key] for key in ("event", "dropped", "left_out", "not_known", "whole") if key in each}
            for each in entries
        ]


def test_all_informers_are_told_in_one_line_and_again_when_something_changes() -> None:
    """Nothing before each has its first list; one in trouble keeps nobody waiting."""
    rig = Rig(
        informer("foos.x", "server"), informer("configmaps", ""), informer("secrets", "", sharded=False)
    )
    assert (rig.told(), rig.narrowing.words()) == ([], "")
    rig.informers[1] = informer("configmaps", "labels")
    rig.informers.append(informer("gone.x", "", error="404"))
    (line,) = rig.told()
    assert line == {
        "event": "The server leaves out objects of other slots",
        "left_out": "foos.x (shardSelector), configmaps (label selector)",
        "whole": "secrets",
    }
    assert rig.narrowing.words() == "objects of other slots: left out by the server"
    rig.informers[0] = informer("foos.x", "client")
    (line,) = rig.told()
    assert line == {
        "event": "The server sends objects of other slots: they are dropped here",
        "dropped": "foos.x",
        "left_out": "configmaps (label selector)",
        "whole": "secrets",
    }
    assert rig.narrowing.words() == "objects of other slots: dropped here: foos.x"


def test_what_is_not_known_yet_is_told_as_that() -> None:
    """By UID an empty cluster shows nothing; what is dropped is more important."""
    rig = Rig(informer("foos.x", "unknown"), informer("configmaps", "labels"))
    (line,) = rig.told()
    assert line == {
        "event": "Too few objects to know whether the server leaves out those of other slots",
        "left_out": "configmaps (label selector)",
        "not_known": "foos.x",
    }
    assert rig.narrowing.words() == (
        "objects of other slots: it is not known yet whether the server leaves them out: foos.x"
    )
    rig.informers.append(informer("bars.x", "client"))
    (line,) = rig.told()
    assert (line["dropped"], line["not_known"]) == ("bars.x", "foos.x")
    assert rig.narrowing.words() == "objects of other slots: dropped here: bars.x"


@pytest.mark.parametrize("slots", [(), (0, 1, 2, 3)])
def test_without_foreign_slots_there_is_nothing_to_tell(slots: tuple[int, ...]) -> None:
    """A replica without slots asks for nothing; one with all of them is sent nothing foreign."""
    rig = Rig(informer("foos.x", "fields"))
    rig.held.remove(1)
    for slot in slots:
        rig.held.add(slot)
    assert (rig.told(), rig.narrowing.words()) == ([], "")
