"""The complete built-in kinds: reading an object and writing it back changes nothing."""

from __future__ import annotations

import json
import os
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handloop import kinds
from handloop.apis.meta import Kind
from handloop.client.config import load_config
from handloop.client.errors import Conflict
from handloop.client.resource_client import Client, codec_of
from handloop.client.transport import HTTPTransport
from handloop.kinds.apps_v1 import DeploymentSpec
from handloop.kinds.core_v1 import Container, PodSpec, PodTemplateSpec, Service
from handloop.kinds.meta_v1 import LabelSelector
from handloop_sandbox.kinds.kind_table import resource_entries
from handloop_sandbox.kinds.structure import (
    Shape,
    items_of,
    named,
    properties,
    shape_of,
    type_of,
    value_of,
)
from support.servers.turns import real_kubeconfig
from tools.api_reader import APIReader
from tools.generate_kinds import KINDS as KINDS_FOLDER
from tools.generate_kinds import render, write

CORPUS = Path(__file__).parents[2] / "sandbox/tests/contract/corpus" / "corpus.jsonl"
MODULES = [module.name for module in pkgutil.iter_modules(kinds.__path__)]
KINDS: dict[tuple[str, str, str], type[Kind]] = {
    (kind.resource.group, kind.resource.version, kind.resource.kind): kind
    for module in MODULES
    for kind in vars(import_module(f"handloop.kinds.{module}")).values()
    if isinstance(kind, type) and issubclass(kind, Kind) and kind is not Kind
}
# what every view leaves to the server
SERVERS = {"managedFields", "selfLink", "deletionGracePeriodSeconds"}
PLACES = {entry.kind: entry for entry in resource_entries()}
SHAPES = {Shape.INT_OR_STRING: "50%", Shape.QUANTITY: "1Gi", Shape.RAW: {"any": [1, None]}}
# a condition takes no other text as its status
SCALARS = {"string": "True", "integer": 0, "number": 0.5, "boolean": False}


def again(kind: type[Kind], obj: Any) -> Any:
    """The object as JSON, after it was read and written."""
    codec = codec_of(kind)
    return json.loads(codec.encode(codec.decode(msgspec.json.encode(obj))))


def without_servers_fields(obj: Any) -> Any:
    """Without null, too, which means no more than an absent field."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SERVERS}
    return without_nulls({**obj, "metadata": metadata})


def without_nulls(part: Any) -> Any:
    if isinstance(part, list):
        return [without_nulls(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {key: without_nulls(value) for key, value in part.items() if value is not None}


def filled(schema: Mapping[str, Any]) -> Any:
    """A value in which every field is there, at its zero if it has one."""
    if shape_of(schema) in SHAPES:
        return SHAPES[shape_of(schema)]
    if shape_of(schema) is not Shape.PLAIN:
        return "2024-05-01T12:00:00Z"
    if type_of(schema) == "object":
        values = value_of(schema)
        if values is not None:
            return {"key": filled(values)}
        members = {name: filled(member) for name, member in properties(schema).items() if name != "metadata"}
        if "volumeClaimTemplates" in members:
            members["volumeClaimTemplates"][0] |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        return members
    if type_of(schema) == "array":
        items = items_of(schema)
        assert items is not None
        return [filled(items)]
    return SCALARS[type_of(schema)]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "meta_v1"])
def test_every_field_of_every_kind_survives(module: str) -> None:
    """Every field that the API's description has, also with 0, false and "", comes back under its name."""
    compared = 0
    for (group, version, name), kind in KINDS.items():
        schema_name = f"api.{(group or 'core').partition('.')[0]}.{version}.{name}"
        known = [entry for entry in resource_entries() if (entry.group, entry.kind) == (group, name)]
        if kind.__module__ != f"handloop.kinds.{module}" or not known:
            continue
        names = {"kind": name, "apiVersion": kind.resource.api_version, "metadata": {"name": "a"}}
        obj = filled(named(schema_name)) | names
        assert again(kind, obj) == obj
        assert known[0].plural == kind.resource.plural
        assert known[0].namespaced == kind.resource.namespaced
        compared += 1
    assert compared or module == "admissionregistration_v1"


def test_no_field_is_sent_that_was_not_set() -> None:
    """An apply owns its fields, and no others."""
    template = PodTemplateSpec(spec=PodSpec(containers=(Container(name="web"),)))
    spec = DeploymentSpec(selector=LabelSelector(), template=template, replicas=0)
    assert json.loads(msgspec.json.encode(spec)) == {
        "selector": {},
        "template": {"spec": {"containers": [{"name": "web"}]}},
        "replicas": 0,
    }
    service = json.loads(msgspec.json.encode(Service.named("a")))
    assert service == {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a"}}


def found_in(answer: Any) -> Iterator[dict[str, Any]]:
    """The objects of built-in kinds in an answer, at any depth."""
    if isinstance(answer, dict):
        group, _, version = str(answer.get("apiVersion")).rpartition("/")
        if "metadata" in answer and (group, version, str(answer.get("kind"))) in KINDS:
            yield answer
        else:
            for part in answer.values():
                yield from found_in(part)
    elif isinstance(answer, list):
        for part in answer:
            yield from found_in(part)


def test_recorded_objects_survive() -> None:
    """Objects in what a kube-apiserver answered once, after its defaults and with what controllers wrote."""
    seen = 0
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        for obj in found_in(json.loads(line)):
            group, _, version = obj["apiVersion"].rpartition("/")
            if "name" in obj["metadata"] and "uid" in obj["metadata"]:
                assert again(KINDS[group, version, obj["kind"]], obj) == without_servers_fields(obj)
                seen += 1
    assert seen > 50


@pytest.fixture
def client() -> Iterator[Client]:
    with closing(HTTPTransport(load_config(kubeconfig=str(real_kubeconfig())))) as transport:
        yield Client(transport)


@pytest.mark.real
def test_live_objects_survive(client: Client) -> None:
    """Everything that a real control plane holds; the server takes one of each kind back as no change."""
    seen = set()
    for kind in KINDS.values():
        place = kind.resource
        for item in json.loads(client.get_raw(place.path()))["items"]:
            obj = {"kind": place.kind, "apiVersion": place.api_version, **item}
            assert again(kind, obj) == without_servers_fields(obj)
            if place.kind not in seen:
                seen.add(place.kind)
                unchanged(client, kind, obj)
    assert {"ClusterRole", "ConfigMap", "Namespace", "Service", "ServiceAccount"} <= seen


def unchanged(client: Client, kind: type[Kind], obj: Any) -> None:
    """A read and an update, as a dry run, leave the object at its version; it may change meanwhile."""
    name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace", "")
    objects = client.resource(kind)
    for _ in range(5):
        with suppress(Conflict):
            read = objects.get(name, namespace=namespace)
            assert objects.update(read, dry_run=True).metadata == read.metadata
            return
    raise AssertionError(f"{kind.resource} {namespace}/{name} does not stand still")


@pytest.mark.real
def test_the_modules_are_those_that_the_server_describes(client: Client, tmp_path: Path) -> None:
    """A newer server has more fields: then `python -m tools.generate_kinds` makes them."""
    with APIReader(os.environ["TEST_KUBECONFIG"]) as reader:
        write(render(reader), tmp_path)
    for path in tmp_path.glob("*.py"):
        assert path.read_text(encoding="utf-8") == (KINDS_FOLDER / path.name).read_text(encoding="utf-8")
