"""The values of a chart, without helm: the defaults, the words, the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from handloop.controller.cli.chart_values import (
    Value,
    definitions_values,
    values_file,
    values_of,
    values_schema,
)

POD: dict[str, Any] = {
    "containers": [{"image": "a", "resources": {"limits": {"memory": "1Gi"}}}],
    "tolerations": [{"key": "infra"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "labelSelector": {"matchLabels": {"a": "b"}}}],
}
DEFAULTS = {
    "replicas": 3,
    "leaderElection": True,
    "shards": 0,
    "namespaces": [],
    "repository": "a",
    "tag": "",
    "digest": "",
}
CHOICES = ("webhook", "metrics", "monitoring", "networkPolicy", "podDisruptionBudget", "userRoles")


def every(values: Mapping[str, Value]) -> list[Value]:
    """All of them, those in others included."""
    return [each for value in values.values() for each in (every(value.parts) if value.parts else [value])]


@pytest.mark.parametrize("values", [values_of(POD, DEFAULTS, CHOICES), definitions_values("sites")])
def test_each_has_words_a_default_and_a_schema(values: Mapping[str, Value]) -> None:
    """Nothing else is taken, but for `global`; the file has the defaults in the order of the schema."""
    schema = json.loads(values_schema(values))
    assert schema["additionalProperties"] is False
    assert [*schema["properties"]] == [*values, "global", "enabled"]
    text = values_file(values, "# made\n")
    defaults = yaml.safe_load(text)
    assert [*defaults] == [*values]
    for value in every(values):
        assert value.told
        assert f"# {value.told}\n" in text
        assert value.schema.keys() & {"type", "enum"}


def test_the_defaults_are_those_of_the_deployment() -> None:
    """The selector of a constraint is the chart's own: it knows the release's labels."""
    defaults = yaml.safe_load(values_file(values_of(POD, DEFAULTS, ()), ""))
    assert defaults["replicas"] == 3
    assert defaults["resources"] == {"limits": {"memory": "1Gi"}}
    assert defaults["tolerations"] == [{"key": "infra"}]
    assert defaults["topologySpreadConstraints"] == [{"maxSkew": 1}]


def test_a_choice_that_an_operator_lacks_is_no_value() -> None:
    """Such as a webhook where nothing is converted."""
    assert not {*values_of(POD, DEFAULTS, ("metrics",))} & {*CHOICES} - {"metrics"}
