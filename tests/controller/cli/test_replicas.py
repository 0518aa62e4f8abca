"""Which mode the options ask for."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.controller.cli.replicas import Elected, replicas_of
from support.builders.options import new_options


@pytest.mark.parametrize(
    ("options", "flag", "needs_all"),
    [
        ({}, "", False),
        ({"leader_elect": True}, "--leader-elect", False),
        ({"shards": 4}, "--shards", True),
    ],
)
def test_a_flag_chooses(options: dict[str, Any], flag: str, *, needs_all: bool) -> None:
    """Only shards need all namespaces, and only with them a replica may hold no object of many."""
    chosen = replicas_of(new_options(**options))
    assert (chosen.flag, chosen.needs_all_namespaces, chosen.divides_objects) == (flag, needs_all, needs_all)


def test_both_flags_are_refused() -> None:
    """By the check of either."""
    with pytest.raises(ValueError, match="are mutually exclusive"):
        replicas_of(new_options(leader_elect=True, shards=4)).check()


def test_the_banner_and_the_role_name_its_lease() -> None:
    """A create cannot be limited to a name."""
    elected = Elected(new_options(leader_elect_resource_name="a", leader_elect_resource_namespace="home"))
    assert elected.facts() == "leader election by lease home/a"
    assert {access.namespace for access in elected.access()} == {"home"}
    assert [access.names for access in elected.access()] == [(), ("a",), ()]
    assert elected.lease_pattern().fullmatch("a")
