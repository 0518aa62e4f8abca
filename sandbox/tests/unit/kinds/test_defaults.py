from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.kinds.defaults import default_object, rounded
from support.builders.builtin import builtin
from support.builders.thing import THINGS, thing
from support.checks.rows import check_rows
from support.recorded.default_cases import check
from support.recorded.recordings import recorded


def test_samples_are_completed_as_recorded() -> None:
    """A real server adds the same to each sample, but for admission and allocation."""
    check_rows(recorded("defaults"), check)


def _deployment(**container: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", **container}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": template},
    }


def test_a_pod_template_has_its_defaults_wherever_it_is() -> None:
    """Constants of the outer and of the inner types, in one go; given values stay as they were."""
    given = _deployment(image="nginx:1")
    done = default_object(builtin("apps", "deployments"), given)
    assert (done["spec"]["replicas"], done["spec"]["progressDeadlineSeconds"]) == (1, 600)
    pod = done["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert pod["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert given == _deployment(image="nginx:1")


def test_a_complete_object_stays_the_same_one() -> None:
    """Nothing missing, nothing copied: defaulting twice changes nothing."""
    done = default_object(builtin("apps", "deployments"), _deployment(image="nginx:1"))
    assert default_object(builtin("apps", "deployments"), done) is done


@pytest.mark.parametrize(
    ("probe", "field", "value"),
    [
        ({"periodSeconds": 0}, "periodSeconds", 10),
        ({"periodSeconds": 3}, "periodSeconds", 3),
        ({}, "failureThreshold", 3),
        ({"httpGet": {"port": 80}}, "httpGet", {"port": 80, "path": "/", "scheme": "HTTP"}),
    ],
)
def test_zero_and_absent_members(probe: dict[str, Any], field: str, value: Any) -> None:
    """Values that Go takes for absent are defaulted, too; a member's own members are."""
    done = default_object(builtin("apps", "deployments"), _deployment(image="i", livenessProbe=probe))
    assert done["spec"]["template"]["spec"]["containers"][0]["livenessProbe"][field] == value


def test_a_pointer_that_is_set_to_an_empty_text_stays() -> None:
    """Only absent members are defaulted there."""
    claim = {"metadata": {"name": "c"}, "spec": {"volumeMode": ""}}
    done = default_object(builtin("", "persistentvolumeclaims"), claim)
    assert done["spec"]["volumeMode"] == ""


def test_custom_resources_are_left_alone() -> None:
    """Their defaults are those of their own schema, elsewhere."""
    obj = thing()
    assert default_object(THINGS, obj) is obj


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("500u", "1m"),
        ("1n", "1m"),
        ("1000000100n", "1001m"),
        ("999999999n", "1"),
        ("500e-6", "1e-3"),
        ("1e-9", "1e-3"),
        ("-1u", "-1m"),
    ],
)
def test_what_is_finer_than_a_thousandth_is_rounded_up(given: str, kept: str) -> None:
    """In the form that it has: with a suffix, or with an exponent."""
    assert rounded({"cpu": given, "memory": "1Gi"}) == {"cpu": kept, "memory": "1Gi"}


def test_other_amounts_stay() -> None:
    """It is the very same mapping: the objects around it need no copy."""
    amounts = {"cpu": "1m", "memory": "1Gi", "a": "0", "b": "1e3", "c": "9223372036854775807", "d": "1001e-3"}
    assert rounded(amounts) is amounts
