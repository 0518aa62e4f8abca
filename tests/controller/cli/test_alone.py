"""A process that works alone needs nothing that replicas need."""

from __future__ import annotations

from typing import Any, cast

from handloop.controller.cli.alone import Alone, Process
from support.builders.options import new_options

NOBODY = cast("Any", None)


def test_it_asks_nobody_for_anything() -> None:
    """No flag, no access, no word in the banner or of doctor, no connection; a Manager as it is."""
    alone = Alone(new_options(leader_elect_resource_namespace="home"))
    process = Process(NOBODY, NOBODY, print, print, NOBODY)
    alone.check()
    assert (alone.flag, alone.facts(), alone.access(), alone.refusals) == ("", "", (), ())
    assert list(alone.findings(NOBODY, [])) == []
    assert (alone.manager_options(process), alone.join(NOBODY, process)) == ({}, ())


def test_a_lease_is_named_whether_or_not_its_namespace_is_known() -> None:
    """A name is not a pattern."""
    assert Alone(new_options(leader_elect_resource_name="a.b")).lease() == "a.b"
    assert Alone(new_options(leader_elect_resource_name="a.b")).lease_pattern().fullmatch("a.b")
    assert not Alone(new_options(leader_elect_resource_name="a.b")).lease_pattern().fullmatch("axb")
    named = new_options(leader_elect_resource_name="a", leader_elect_resource_namespace="home")
    assert Alone(named).lease() == "home/a"
