"""Finding the events of one object."""

from __future__ import annotations

import pytest

from handloop.apis.resource import GroupVersionKind
from handloop.controller.runtime.events.selector import event_field_selector

_DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    ("api_version", "prefix"),
    [
        ("v1", "involvedObject"),
        ("events.k8s.io/v1", "regarding"),
        ("events.k8s.io/v1beta1", "regarding"),
    ],
)
def test_the_fields_are_called_as_the_version_calls_them(api_version: str, prefix: str) -> None:
    """EV-26. Name, kind, apiVersion and UID of the object. Follows TestGetFieldSelector."""
    selector = event_field_selector(api_version, kind=_DEPLOYMENT, name="test-deployment", uid="2c55cad7")
    assert set(selector.split(",")) == {
        f"{prefix}.name=test-deployment",
        f"{prefix}.kind=Deployment",
        f"{prefix}.apiVersion=apps/v1",
        f"{prefix}.uid=2c55cad7",
    }
    assert event_field_selector(api_version) == ""


def test_what_is_not_said_may_be_anything() -> None:
    """EV-26. Empty parts are left out."""
    assert event_field_selector("v1", name="a") == "involvedObject.name=a"
    assert event_field_selector("v1", kind=GroupVersionKind("", "v1", "")) == "involvedObject.apiVersion=v1"


@pytest.mark.parametrize("api_version", ["v1alpha1", "apps/v1", ""])
def test_an_unknown_version_is_an_error(api_version: str) -> None:
    """EV-26. There are no events there."""
    with pytest.raises(ValueError, match=f"unknown version {api_version}"):
        event_field_selector(api_version, name="a")


def test_values_cannot_break_out_of_the_selector() -> None:
    """Commas, equals signs and backslashes are escaped, as the server expects it."""
    assert event_field_selector("v1", name=r"a,b=c\d") == r"involvedObject.name=a\,b\=c\\d"
