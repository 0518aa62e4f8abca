from __future__ import annotations

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.rules.validation import RULES, name_rule, validate
from support.builders.builtin import builtin
from support.builders.thing import THINGS, thing


def test_rules_are_for_kinds_that_are_served() -> None:
    """No entry of the table is without a kind."""
    assert RULES.keys() <= {tuple(resource.group_resource) for resource in builtin_resources()}


def test_each_kind_is_judged_by_its_own_rules() -> None:
    """A Deployment without a template has complaints, one in both versions of a kind the same."""
    causes = validate(builtin("apps", "deployments"), {"metadata": {"name": "a"}, "spec": {}}, None)
    assert ("FieldValueRequired", "spec.selector") in [(cause.reason, cause.field) for cause in causes]
    spec = {"spec": {"maxReplicas": 0, "scaleTargetRef": {"kind": "A", "name": "a", "apiVersion": "a/v1"}}}
    first, second = (
        validate(builtin("autoscaling", "horizontalpodautoscalers", version), spec, None)
        for version in ("v1", "v2")
    )
    assert [cause.field for cause in first] == [cause.field for cause in second] == ["spec.maxReplicas"]


def test_kinds_without_rules_are_fine() -> None:
    """Service accounts hold nothing to judge, custom resources have their schema."""
    assert validate(builtin("", "serviceaccounts"), {}, None) == []
    assert validate(THINGS, thing(a="wrong"), None) == []


@pytest.mark.parametrize(
    ("group", "plural", "name", "fits"),
    [
        ("", "configmaps", "a.b", True),
        ("", "configmaps", "A", False),
        ("", "namespaces", "a.b", False),
        ("", "services", "1a", True),
        ("", "events", "Any Thing", True),
        ("rbac.authorization.k8s.io", "roles", "system:a", True),
        ("rbac.authorization.k8s.io", "roles", "a/b", False),
        ("batch", "cronjobs", "a" * 52, True),
        ("batch", "cronjobs", "a" * 53, False),
        ("apps", "statefulsets", "a.b", False),
    ],
)
def test_names(group: str, plural: str, name: str, fits: bool) -> None:
    """What a kind's objects may be called."""
    assert (name_rule(builtin(group, plural))(name, False) == []) is fits


def test_prefixes_may_end_with_a_hyphen() -> None:
    """A prefix is a name that goes on."""
    rule = name_rule(builtin("", "configmaps"))
    assert rule("web-", True) == []
    assert rule("web-", False)
