from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from handloop_sandbox.converters import ADDRESS, Converters
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.conversion import ConversionNeededError, Known, WebhookConversion, question
from handloop_sandbox.wire.resource import GroupResource

Object = dict[str, Any]
_SERVICE = {"service": {"name": "hook", "namespace": "n", "path": "/convert"}}


def _needed(count: int = 1, **client: Any) -> ConversionNeededError:
    conversion = WebhookConversion("things.g", ("u", 1), {"clientConfig": client or _SERVICE}, Known())
    return ConversionNeededError(conversion, [_thing(index) for index in range(count)], "g/v2")


def _thing(index: int) -> Object:
    return {"apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": f"t{index}"}, "spec": {"n": index}}


def test_a_function_gets_batches_of_its_own_objects() -> None:
    """What it changes is changed nowhere else."""
    sizes = []

    def convert(objects: Sequence[Object], api_version: str) -> Sequence[Object]:
        sizes.append(len(objects))
        for obj in objects:
            obj["apiVersion"] = api_version
            obj["spec"].clear()
        return objects

    needed = _needed(1200)
    answers = Converters({"things.g": convert}).answers(needed, None)
    assert sizes == [500, 500, 200]
    assert answers[question("things.g", _thing(7), "g/v2")] == {**_thing(7), "apiVersion": "g/v2", "spec": {}}


def test_one_object_that_cannot_be_converted_does_not_spoil_the_others() -> None:
    """They are asked for alone, as a kube-apiserver asks."""

    def convert(objects: Sequence[Object], api_version: str) -> Sequence[Object]:
        if any(obj["spec"]["n"] == 1 for obj in objects):
            raise ValueError("1 is ill")
        return [{**obj, "apiVersion": api_version} for obj in objects]

    found = Converters({"things.g": convert}).answers(_needed(3), None)
    assert [answer if isinstance(answer, str) else answer["spec"]["n"] for answer in found.values()] == [
        0,
        "conversion webhook for g/v1, Kind=Thing failed: 1 is ill",
        2,
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "returned 0 objects, expected 1"),
        (
            [_thing(0)],
            "returned invalid object at index 0: invalid groupVersion (expected g/v2, received g/v1)",
        ),
        ([{1j}], "failed: "),
    ],
)
def test_a_function_is_checked_like_a_webhook(given: list[Any], told: str) -> None:
    """By the same rules."""
    (answer,) = Converters({"things.g": lambda _objects, _version: given}).answers(_needed(), None).values()
    assert isinstance(answer, str)
    assert answer.startswith(f"conversion webhook for g/v1, Kind=Thing {told}")


@pytest.mark.parametrize(
    ("annotation", "spec", "found"),
    [
        ("127.0.0.1:9443", {"clusterIP": "10.0.0.7", "ports": []}, ("127.0.0.1", 9443, "")),
        ("", {"type": "ExternalName", "externalName": "localhost"}, ("localhost", 443, "")),
        ("", {"clusterIP": "None"}, ("", 0, 'cannot route to service with ClusterIP "None"')),
        (
            "",
            {"clusterIP": "10.0.0.7", "ports": [{"port": 80}]},
            ("", 0, 'no service port 443 found for service "hook"'),
        ),
        (
            "",
            {"clusterIP": "10.0.0.7", "ports": [{"port": 443}]},
            ("", 0, "dial tcp 10.0.0.7:443: connect: connection refused"),
        ),
    ],
)
def test_where_a_service_leads(annotation: str, spec: Object, found: tuple[str, int, str]) -> None:
    """Its certificate has its name in any case."""
    store = Store()
    transaction = Transaction(store)
    metadata = {"name": "hook", "namespace": "n", "uid": "u", "annotations": {ADDRESS: annotation}}
    transaction.put(GroupResource("", "services"), {"metadata": metadata, "spec": spec})
    store.commit(transaction.changes)
    target = Converters({}).target(store, _needed())
    assert target is not None
    assert (target.host, target.port, target.problem) == found
    assert (target.name, target.url) == ("hook.n.svc", "https://hook.n.svc:443/convert")


def test_a_url_is_used_as_it_is() -> None:
    """Without a port, it is 443."""
    target = Converters({}).target(Store(), _needed(url="https://there/x"))
    assert target is not None
    assert (target.url, target.host, target.port, target.name) == ("https://there/x", "there", 443, "there")
