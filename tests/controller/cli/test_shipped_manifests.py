"""The manifests of this repository under another operator's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from handloop.controller.cli.shipped_manifests import shipped_manifest, shipped_manifests

MANIFESTS: Final = Path(__file__).parents[3] / "manifests"


def test_an_operator_of_our_name_gets_our_manifests() -> None:
    """Byte for byte: all that is written by hand, but for the samples."""
    ours = {
        place: (MANIFESTS / place).read_text(encoding="utf-8") for place, _ in shipped_manifests("handloop")
    }
    assert dict(shipped_manifests("handloop")) == ours
    folders = {path.name for path in MANIFESTS.iterdir() if path.is_dir()}
    assert {place.partition("/")[0] for place in ours if "/" in place} == folders - {
        "samples",
        "bundle",
        "charts",
    }


def test_every_name_is_the_operators() -> None:
    """Only metrics, and the label of all Leases of shards, keep theirs."""
    for place, text in shipped_manifests("my-operator"):
        for word in text.replace("handloop.dev/shards", "").split():
            assert "handloop" not in word.lower() or "handloop_" in word, (place, word)


@pytest.mark.parametrize(
    ("name", "alert"), [("greeter", "GreeterDown"), ("a.my-operator", "AMyOperatorDown")]
)
def test_alerts_and_their_queries_are_the_operators(name: str, alert: str) -> None:
    """By name, by namespace and by job."""
    document = yaml.safe_load(shipped_manifest("prometheus/prometheus_rule.yaml", name))
    rules = {rule["alert"]: rule["expr"] for group in document["spec"]["groups"] for rule in group["rules"]}
    wanted = f'absent(controller_runtime_active_workers{{namespace="{name}-system",job="{name}-metrics"}})'
    assert rules[alert] == wanted


def _plain(node: yaml.Node) -> Iterator[str]:
    """The scalars without quotes."""
    if isinstance(node, yaml.ScalarNode):
        yield from [node.value] if node.style is None else []
    for child in node.value if isinstance(node, yaml.CollectionNode) else []:
        for each in child if isinstance(child, tuple) else (child,):
            yield from _plain(each)


@pytest.mark.parametrize("name", ["y", "n", "on", "off", "no", "yes", "null", "nil", "true"])
def test_a_name_that_kubectl_takes_for_another_value_is_quoted(name: str) -> None:
    """The server would refuse a Deployment whose name is true, or null."""
    for place, text in shipped_manifests(name):
        if place.endswith(".yaml"):
            found = [each for document in yaml.compose_all(text) for each in _plain(document)]
            assert name not in found or name == "true", place
    deployment = yaml.safe_load(shipped_manifest("manager/deployment.yaml", name))
    assert deployment["metadata"]["name"] == name
