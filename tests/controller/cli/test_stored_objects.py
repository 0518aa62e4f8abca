from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.client.config import ClientConfig, load_config
from handloop.client.resource_client import codec_of
from handloop.controller.cli import stored_objects
from handloop.controller.cli.definition_source import SourceError
from handloop.controller.cli.stored_objects import judge
from handloop.controller.foo.types import Foo
from handloop.testing.running_sandbox import RunningSandbox, running_sandbox

OLD = custom_resource_definition(Foo)
SPEC = ("schema", "openAPIV3Schema", "properties", "spec")


def changed(**fields: Any) -> dict[str, Any]:
    """The definition of Foo with other fields in its spec; None takes one away."""
    definition = copy.deepcopy(OLD)
    part = definition["spec"]["versions"][0]
    for step in SPEC:
        part = part[step]
    part["properties"] = {name: each for name, each in {**part["properties"], **fields}.items() if each}
    return definition


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Seven Foos, of which two have a note."""
    with running_sandbox(tmp_path) as running:
        running.apply(changed(note={"type": "string"}))
        for number in range(7):
            spec = {
                "deploymentName": f"d{number}",
                "replicas": number + 1,
                **({"note": "n"} if number > 4 else {}),
            }
            names = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}
            running.apply({**names, "metadata": {"name": f"f{number}"}, "spec": spec})
        yield running


def config(sandbox: RunningSandbox) -> ClientConfig:
    """For that sandbox."""
    return load_config(kubeconfig=str(sandbox.kubeconfig))


def _found(sandbox: RunningSandbox, new: Any, reads: Any = None) -> list[tuple[str, str, Any]]:
    return [(each.rule, each.path, each.old) for each in judge(config(sandbox), OLD, new, reads)]


def test_objects_that_lose_something_or_would_be_refused_are_counted(sandbox: RunningSandbox) -> None:
    """By the field, with the first of them; also by a rule in CEL."""
    assert _found(sandbox, changed(note={"type": "string"})) == []
    assert _found(sandbox, OLD) == [("stored-erased", "spec.note", 2)]
    rule = {"rule": "self != 'd3'", "message": "not that one"}
    tighter = changed(
        note={"type": "string"},
        replicas={"type": "integer", "maximum": 5},
        deploymentName={"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule]},
    )
    (by_rule, by_bound) = judge(config(sandbox), OLD, tighter, None)
    assert by_rule.message == (
        "1 of 7 objects would be refused when this field is written; the first is default/f3: "
        'Invalid value: "d3": not that one'
    )
    assert (by_bound.path, by_bound.old, by_bound.severity) == ("spec.replicas", 2, "breaks")


def test_objects_that_the_program_cannot_read_are_counted(sandbox: RunningSandbox) -> None:
    """They would be kept out of its cache."""
    free = changed(note={"type": "string"}, deploymentName={"x-kubernetes-preserve-unknown-fields": True})
    sandbox.apply(free)
    names = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}
    sandbox.apply({**names, "metadata": {"name": "odd"}, "spec": {"deploymentName": 5}})
    (finding,) = judge(config(sandbox), OLD, free, codec_of(Foo).decode)
    assert (finding.rule, finding.old) == ("stored-unreadable", 1)
    assert "the first is default/odd: " in finding.message


def test_pages_are_read_one_after_the_other(sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told after each."""
    monkeypatch.setattr(stored_objects, "_PAGE", 3)
    seen: list[int] = []
    judge(config(sandbox), OLD, OLD, None, seen.append)
    assert seen == [3, 6, 7]
    with sandbox.faults.expire(as_status=True, verbs=["list"]), pytest.raises(SourceError, match="try again"):
        judge(config(sandbox), OLD, OLD, None)


def test_a_definition_that_no_server_takes_is_told(sandbox: RunningSandbox) -> None:
    """In the server's words."""
    with pytest.raises(SourceError, match=r"a server would refuse the new definition: .*Unsupported value"):
        judge(config(sandbox), OLD, changed(note={"type": "nonsense"}), None)
