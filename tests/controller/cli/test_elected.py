"""What --leader-elect adds; test_run.py lets it elect."""

from __future__ import annotations

from handloop.controller.cli.elected import Elected
from support.builders.options import new_options


def test_the_banner_and_the_role_name_its_lease() -> None:
    """A create cannot be limited to a name."""
    elected = Elected(new_options(leader_elect_resource_name="a", leader_elect_resource_namespace="home"))
    assert elected.facts() == "leader election by lease home/a"
    assert {access.namespace for access in elected.access()} == {"home"}
    assert [access.names for access in elected.access()] == [(), ("a",), ()]
    assert elected.lease_pattern().fullmatch("a")
