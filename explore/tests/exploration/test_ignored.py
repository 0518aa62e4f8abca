"""What an author leaves out of comparisons."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_explore.ignored import Ignored

SECRET: dict[str, Any] = {
    "data": {"password": "x", "tls.crt": "y"},
    "metadata": {"annotations": {"example.org/at": "z"}},
    "status": {"conditions": [{"type": "Ready", "status": "True", "message": "since 3 s"}]},
}


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("secrets:data.password", {"data": {"tls.crt": "y"}}),
        ("Secret:data.tls.crt", {"data": {"password": "x"}}),
        ("secrets:data.*", {"data": {}}),
        ("*:data", {}),
        ("*:metadata.annotations.example.org/at", {"metadata": {"annotations": {}}}),
        (
            "secrets:status.conditions.Ready.message",
            {"status": {"conditions": {"Ready": {"type": "Ready", "status": "True"}}}},
        ),
    ],
)
def test_fields_are_named_as_in_a_report(line: str, left: dict[str, Any]) -> None:
    """Conditions by their type, and names with dots as they are."""
    ignored = Ignored.parse(line)
    assert ignored.fits("Secret")
    (part,) = {"data", "metadata", "status"} & {line.partition(":")[2].partition(".")[0]}
    assert ignored.without({part: SECRET[part]}) == left


def test_a_kind_is_named_by_its_plural_or_itself() -> None:
    """With a group or without."""
    lines = ("networkpolicies", "NetworkPolicy", "networkpolicies.networking.k8s.io", "network*")
    assert all(Ignored.parse(line).fits("NetworkPolicy") for line in lines)
    assert not Ignored.parse("policies").fits("NetworkPolicy")
    assert Ignored.parse("ingresses").fits("Ingress")


@pytest.mark.parametrize("line", ["", ":data", "secrets:"])
def test_a_line_that_names_nothing_is_refused(line: str) -> None:
    """With one that names something."""
    with pytest.raises(ValueError, match=r"does not name fields as in secrets:data\.password"):
        Ignored.parse(line)
