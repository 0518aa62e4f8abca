"""What expressions make of texts, and of those that they cannot read, word for word."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

import yaml

from support.builders.widgets import CRDS, wait_until_served
from support.servers.api_server import APIServer, Object

_CASES: Final[list[list[str]]] = yaml.safe_load(
    Path(__file__).with_name("expressions.yaml").read_text(encoding="utf-8")
)


def _definition(group: str) -> Object:
    fields = {
        f"f{number}": {
            "type": "string",
            "maxLength": 200,
            "x-kubernetes-validations": [{"rule": rule, "message": "FALSE"}],
        }
        for number, (rule, _, _) in enumerate(_CASES)
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Probe", "plural": "probes"}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": [version]}
    return {"metadata": {"name": f"probes.{group}"}, "spec": spec}


def test_each_rule_says_of_its_text_what_it_says_in_a_cluster(server: APIServer) -> None:
    """Durations, times, numbers, URLs, addresses, versions, formats: what holds, and the words where not."""
    group = f"e{uuid.uuid4().hex[:8]}.contract.example.com"
    assert server.create(CRDS, _definition(group)).status == 201
    try:
        path = f"/apis/{group}/v1/probes"
        wait_until_served(server, group, "probes")
        texts = {f"f{number}": text for number, (_, text, _) in enumerate(_CASES)}
        probe = {"apiVersion": f"{group}/v1", "kind": "Probe", "metadata": {"name": "p"}, "spec": texts}
        answer = server.create(f"{path}?dryRun=All", probe)
    finally:
        server.delete(f"{CRDS}/probes.{group}")
    told = {field: message.removeprefix("Invalid value: ") for _, field, message in _causes(answer.body)}
    for number, (rule, text, expected) in enumerate(_CASES):
        assert told.get(f"spec.f{number}", "") == expected, f"{rule} of {text!r}"


def _causes(status: Object) -> list[tuple[str, str, str]]:
    return [(cause["reason"], cause["field"], cause["message"]) for cause in status["details"]["causes"]]
