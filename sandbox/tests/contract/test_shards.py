"""
shardSelector as kube-apiserver 1.36.3 answers it: with its feature gate ShardedListAndWatch, and without.

The sandbox runs with both. The real server with the gate is the one that TEST_KUBECONFIG_SHARDS names, or
TEST_KUBECONFIG where that one obeys.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from handloop_sandbox.grammar.shard_selector import (
    HASHES,
    ShardField,
    ShardRange,
    fnv1a_64,
    format_shard_selector,
    slot_of,
    slot_range,
)
from handloop_sandbox.server import Sandbox
from support.builders.widgets import defined, widget_definition
from support.servers.api_server import Answer, APIServer, Endpoint, endpoint_of

CONFIG_MAPS: Final = "/api/v1/configmaps"
LOW, HIGH = (format_shard_selector(ShardField.UID, [slot_range(slot, 2)]) for slot in (0, 1))
EVERYTHING: Final = format_shard_selector(ShardField.UID, [ShardRange(0, HASHES)])
START, MIDDLE, END = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"
FIELDS: Final = "object.metadata.uid, object.metadata.namespace"
BOTH: Final = 'got "object.metadata.uid" and "object.metadata.namespace"'
NO_PATH: Final = "expected field path (e.g. object.metadata.uid)"
AS_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
AS_METADATA: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
STREAMED: Final = {
    "watch": 1,
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
    "timeoutSeconds": 30,
}


def _at(path: str, selector: str, **query: Any) -> str:
    return f"{path}?{urlencode({'shardSelector': selector, **query})}"


def _obeys(server: APIServer) -> bool:
    return server.get(_at("/api/v1/namespaces", "nonsense")).status == 500


@pytest.fixture(scope="session", params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def obedient(request: pytest.FixtureRequest) -> Iterator[APIServer]:
    """A server with the gate."""
    if request.param == "sandbox":
        with (
            Sandbox(seed=1, sharded_list_and_watch=True) as sandbox,
            APIServer(Endpoint(sandbox.url, sandbox.token), real=False) as server,
        ):
            yield server
        return
    path = os.environ.get("TEST_KUBECONFIG_SHARDS") or os.environ.get("TEST_KUBECONFIG")
    if not path:
        pytest.skip("TEST_KUBECONFIG_SHARDS names no real server")
    with APIServer(endpoint_of(Path(path)), real=True) as server:
        if not _obeys(server):
            pytest.skip("the real server ignores shardSelector: its gate ShardedListAndWatch is off")
        yield server


@pytest.fixture
def heedless(server: APIServer) -> APIServer:
    """A server without the gate."""
    if _obeys(server):
        pytest.skip("the real server obeys shardSelector: its gate ShardedListAndWatch is on")
    return server


def _create(server: APIServer, path: str, body: dict[str, Any]) -> Answer:
    answer = server.create(path, body)
    assert answer.status == 201, answer
    return answer


def _filled(server: APIServer, path: str) -> str:
    """Twelve Secrets or more, some of them in each half of the hashes; nothing else creates Secrets."""
    number = 0
    while number < 12 or len({slot for _, slot in _halves(server.get(path))}) < 2:
        _create(server, path, {"metadata": {"name": f"s{number:02}"}})
        number += 1
    return path


def _halves(listed: Answer) -> list[tuple[str, int]]:
    """The names with the halves of their UIDs, as this side computes them."""
    metadata = [item["metadata"] for item in listed.body["items"]]
    return [(entry["name"], slot_of(entry["uid"], 2)) for entry in metadata]


def _of(half: int, listed: Answer) -> list[str]:
    return [name for name, slot in _halves(listed) if slot == half]


@pytest.fixture
def place(obedient: APIServer) -> Iterator[str]:
    """The path of Secrets in a namespace of the test's own."""
    name = f"contract-{uuid.uuid4().hex[:10]}"
    _create(obedient, "/api/v1/namespaces", {"metadata": {"name": name}})
    yield f"/api/v1/namespaces/{name}/secrets"
    obedient.remove_namespace(name)


@pytest.fixture(scope="module")
def secrets(obedient: APIServer) -> Iterator[str]:
    """The path of Secrets that a test may only read."""
    name = f"contract-{uuid.uuid4().hex[:10]}"
    _create(obedient, "/api/v1/namespaces", {"metadata": {"name": name}})
    yield _filled(obedient, f"/api/v1/namespaces/{name}/secrets")
    obedient.remove_namespace(name)


@pytest.fixture(scope="module")
def widgets(obedient: APIServer, secrets: str) -> Iterator[str]:
    """The path of eight custom resources."""
    group = f"c{uuid.uuid4().hex[:8]}.contract.example.com"
    with defined(obedient, widget_definition(group)):
        path = f"/apis/{group}/v1/namespaces/{secrets.split('/')[4]}/widgets"
        for number in range(8):
            head = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": f"w{number}"}}
            _create(obedient, path, {**head, "spec": {"size": 1}})
        yield path


@pytest.mark.parametrize(("field", "member"), [(ShardField.UID, "uid"), (ShardField.NAMESPACE, "namespace")])
@pytest.mark.parametrize("count", [1, 3, 16])
def test_slots_part_the_objects(
    obedient: APIServer, secrets: str, field: ShardField, member: str, count: int
) -> None:
    """The server hashes as we do: a slot lists exactly its objects, of all namespaces."""
    assert secrets
    everything = obedient.get(CONFIG_MAPS)
    then = {"resourceVersion": everything.rv, "resourceVersionMatch": "Exact"}
    for slot in range(count):
        answer = obedient.get(
            _at(CONFIG_MAPS, format_shard_selector(field, [slot_range(slot, count)]), **then)
        )
        expected = [i for i in everything.body["items"] if slot_of(i["metadata"][member], count) == slot]
        assert answer.body["items"] == expected


def test_a_cluster_scoped_object_has_the_namespace_of_nothing(obedient: APIServer) -> None:
    """All Namespaces, Nodes and so on are in the slot of "" by namespace."""
    value = fnv1a_64("")
    for shards, found in (([ShardRange(0, value)], False), ([ShardRange(value, value + 1)], True)):
        selector = format_shard_selector(ShardField.NAMESPACE, shards)
        assert bool(obedient.get(_at("/api/v1/namespaces", selector)).names) is found


def test_one_namespace_by_namespace_is_all_or_nothing(obedient: APIServer, secrets: str) -> None:
    """A path with a namespace is narrowed, too."""
    for slot in (0, 1):
        listed = obedient.get(
            _at(secrets, format_shard_selector(ShardField.NAMESPACE, [slot_range(slot, 2)]))
        )
        expected = obedient.get(secrets).names if slot == slot_of(secrets.split("/")[4], 2) else []
        assert listed.names == expected


def test_the_answer_says_its_selector_only_for_whole_built_in_objects(
    obedient: APIServer, secrets: str, widgets: str
) -> None:
    """Lists of custom resources, of metadata and tables are narrowed, too, but have no shardInfo."""
    info = {"selector": LOW}
    whole = obedient.get(_at(secrets, LOW))
    assert whole.body["metadata"] == {"resourceVersion": whole.rv, "shardInfo": info}
    for path, accept in (
        (secrets, AS_METADATA),
        (secrets, AS_TABLE),
        (widgets, "application/json"),
        (widgets, AS_METADATA),
        (widgets, AS_TABLE),
    ):
        expected = _of(0, obedient.get(path))
        answer = obedient.get(_at(path, LOW), accept=accept)
        objects = answer.body.get("items") or [row["object"] for row in answer.body["rows"]]
        assert [entry["metadata"]["name"] for entry in objects] == expected
        assert "shardInfo" not in answer.body["metadata"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (LOW.replace("'", '"'), LOW),
        (f"  ({LOW.replace(', ', ' ,')}) // a comment", LOW),
        (LOW.replace(f"'{START}'", f"r'''{START}'''"), LOW),
        (LOW.replace("'0x0", r"'\x30x0"), LOW),
        (LOW.replace("shardRange", "anything.shardRange"), LOW),
        (f"{LOW}||{LOW}", f"{LOW} || {LOW}"),
        (f"({LOW} || {EVERYTHING})", f"{LOW} || {EVERYTHING}"),
        ("", ""),
    ],
)
def test_a_selector_is_an_expression_of_cel(obedient: APIServer, secrets: str, text: str, plain: str) -> None:
    """Quotes, brackets, escapes, even a receiver are CEL's. Ranges that overlap are answered as asked."""
    answer = obedient.get(_at(secrets, text))
    everything = obedient.get(secrets)
    assert answer.names == (_of(0, everything) if plain and EVERYTHING not in plain else everything.names)
    info = {"shardInfo": {"selector": plain}} if plain else {}
    assert answer.body["metadata"] == {"resourceVersion": answer.rv, **info}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
        ("nonsense", "unexpected expression kind 3; expected shardRange() call or || operator"),
        (f"{LOW} && {LOW}", 'unsupported function "_&&_"; only shardRange() and || are allowed'),
        (f"!{LOW}", 'unsupported function "!_"; only shardRange() and || are allowed'),
        ("has(object.metadata)", 'unsupported function "has"; only shardRange() and || are allowed'),
        (f"{LOW} || {HIGH.replace('uid', 'namespace')}", f"all shard ranges must use the same field, {BOTH}"),
        (LOW.replace("uid", "name"), f'unsupported field path "object.metadata.name"; supported: {FIELDS}'),
        (
            LOW.replace(".metadata", "['metadata']"),
            f"shardRange() first argument: {NO_PATH}, got expression kind 1",
        ),
        (f"shardRange(object.metadata.uid, '{START}')", "shardRange() requires exactly 3 arguments, got 2"),
        (LOW.replace(f"'{START}'", "0"), "hexStart must be a string literal, got int64"),
        (
            LOW.replace(f"'{START}'", "hex(0)"),
            "hexStart must be a string literal (e.g. '0xff'), got expression kind 1",
        ),
        (LOW.replace(START, START[2:]), f"hexStart must have '0x' prefix, got \"{START[2:]}\""),
        (LOW.replace(START, "0X0"), "hexStart must have '0x' prefix, got \"0X0\""),
        (LOW.replace(START, "0x"), "hexStart: hex value is required after '0x'"),
        (LOW.replace(MIDDLE, "0x8A"), 'hexEnd: invalid hex character "A" in "0x8A"'),
        (
            LOW.replace(START, "0x0"),
            f'hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "{START}"?)',
        ),
        (
            LOW.replace(MIDDLE, "0x20000000000000000"),
            "hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got \"0x20000000000000000\"",
        ),
        (
            LOW.replace(START, "0x" + "0" * 18),
            f'hexStart: hex value too long (18 chars, max 17): "{"0" * 18}"',
        ),
        (LOW.replace(START, MIDDLE), f"shard range start {MIDDLE} must be less than end {MIDDLE}"),
    ],
)
def test_a_wrong_selector_is_an_error_of_the_server(
    obedient: APIServer, secrets: str, text: str, message: str
) -> None:
    """500 without a reason, so a client that trusts the code tries for ever."""
    answer = obedient.get(_at(secrets, text))
    assert (answer.status, answer.message) == (500, f"invalid shard selector: {message}")
    assert not answer.body.keys() & {"reason", "details"}


def test_an_expression_that_does_not_parse_is_one_too(obedient: APIServer, secrets: str) -> None:
    """Its text after the first words is the parser's own."""
    for text in ("shardRange(", f"{LOW} ||", f"{LOW} #"):
        answer = obedient.get(_at(secrets, text))
        assert answer.status == 500
        assert answer.message.startswith("invalid shard selector: CEL parse error: ")


def test_every_verb_on_collections_refuses_it(obedient: APIServer, secrets: str, widgets: str) -> None:
    """Lists in each form, watches and deletecollection: before anything is deleted."""
    before = obedient.get(secrets).names
    for path in (secrets, widgets):
        for answer in (
            obedient.get(_at(path, "nonsense"), accept=AS_TABLE),
            obedient.get(_at(path, "nonsense"), accept=AS_METADATA),
            obedient.get(_at(path, "nonsense", watch=1)),
            obedient.get(_at(path, "nonsense", **STREAMED)),
            obedient.delete(_at(path, "nonsense")),
        ):
            assert answer.status == 500
    assert obedient.get(secrets).names == before


def test_the_order_of_refusals(obedient: APIServer, secrets: str) -> None:
    """Other selectors and numbers come first, versions and tokens later."""
    for query in ({"labelSelector": "a=b=c"}, {"fieldSelector": "spec.x=1"}, {"limit": "a"}):
        assert obedient.get(_at(secrets, "nonsense", **query)).status == 400
    for query in (
        {"resourceVersion": "99999999999"},
        {"continue": "x"},
        {"watch": "1", "resourceVersion": "abc"},
        {"watch": "1", "resourceVersion": "1"},
    ):
        assert obedient.get(_at(secrets, "nonsense", **query)).status == 500


def test_only_the_first_of_two_selectors_counts(obedient: APIServer, secrets: str) -> None:
    """As of every parameter. A GET of one object has none."""
    assert obedient.get(f"{_at(secrets, LOW)}&shardSelector=nonsense").names == _of(0, obedient.get(secrets))
    assert obedient.get(_at(f"{secrets}/s00", "nonsense")).status == 200


def test_pages_count_the_other_shards(obedient: APIServer, secrets: str) -> None:
    """In remainingItemCount is everything since the page began but its items: also what was skipped."""
    everything = obedient.get(secrets).names
    ours = _of(0, obedient.get(secrets))
    page = obedient.get(_at(secrets, LOW, limit=1))
    assert page.names == ours[:1]
    assert page.body["metadata"]["remainingItemCount"] == len(everything) - 1
    token = page.body["metadata"]["continue"]
    rest = obedient.get(_at(secrets, LOW, limit=500, **{"continue": token}))
    assert rest.names == ours[1:]
    assert rest.body["metadata"] == {"resourceVersion": page.rv, "shardInfo": {"selector": LOW}}


def test_a_full_page_goes_on_while_other_shards_follow(obedient: APIServer, secrets: str) -> None:
    """A limit of exactly our objects: the next page is empty unless ours is the last of all."""
    everything = obedient.get(secrets)
    last = everything.names[-1]
    half = 0 if last not in _of(0, everything) else 1
    ours = _of(half, everything)
    page = obedient.get(_at(secrets, (LOW, HIGH)[half], limit=len(ours)))
    assert page.names == ours
    assert page.body["metadata"]["remainingItemCount"] == len(everything.names) - len(ours)
    token = page.body["metadata"]["continue"]
    assert obedient.get(_at(secrets, (LOW, HIGH)[half], limit=5, **{"continue": token})).names == []


def test_a_token_belongs_to_no_selector(obedient: APIServer, secrets: str) -> None:
    """Another selector, or none, goes on from where it stands, and so misses what came before."""
    everything = obedient.get(secrets)
    page = obedient.get(_at(secrets, LOW, limit=1))
    later = everything.names[everything.names.index(page.names[0]) + 1 :]
    token = {"continue": page.body["metadata"]["continue"]}
    assert obedient.get(_at(secrets, HIGH, **token)).names == [n for n in later if n in _of(1, everything)]
    assert obedient.get(f"{secrets}?{urlencode(token)}").names == later


def test_versions_and_other_selectors_narrow_as_without(obedient: APIServer, secrets: str) -> None:
    """Version 0 ignores the limit, an exact one shows the past, and an object must meet every selector."""
    everything = obedient.get(secrets)
    ours = _of(0, everything)
    exact = {"resourceVersion": everything.rv, "resourceVersionMatch": "Exact"}
    assert obedient.get(_at(secrets, LOW, **exact)).names == ours
    assert obedient.get(_at(secrets, LOW, fieldSelector=f"metadata.name={ours[0]}")).names == ours[:1]
    assert obedient.get(_at(secrets, HIGH, fieldSelector=f"metadata.name={ours[0]}")).names == []
    assert obedient.get(_at(secrets, LOW, labelSelector="nobody")).names == []
    cached = _at(secrets, LOW, resourceVersion=0, limit=1)
    obedient.eventually(cached, lambda answer: answer.names == ours)


def test_a_watch_tells_of_its_shard_alone(obedient: APIServer, place: str) -> None:
    """No event of another shard comes. A name that is created anew has another UID, so another shard."""
    start = obedient.get(place).rv
    with obedient.watch(_at(place, LOW, watch=1, resourceVersion=start, timeoutSeconds=30)) as watch:
        expected: list[tuple[str, str]] = []
        while len(expected) < 6:
            created = _create(obedient, place, {"metadata": {"name": "again"}})
            obedient.patch(f"{place}/again", {"data": {"a": "eA=="}})
            obedient.delete(f"{place}/again")
            if slot_of(created.body["metadata"]["uid"], 2) == 0:
                uid = created.body["metadata"]["uid"]
                expected += [(kind, uid) for kind in ("ADDED", "MODIFIED", "DELETED")]
        events = [(event["type"], event["object"]["metadata"]["uid"]) for event in watch.count(len(expected))]
    assert events == expected


def test_a_streamed_list_does_not_say_its_selector(obedient: APIServer, secrets: str, widgets: str) -> None:
    """It holds the shard alone; its closing bookmark has no more than the usual annotation."""
    for path in (secrets, widgets):
        expected = _of(1, obedient.get(path))
        with obedient.watch(_at(path, HIGH, **STREAMED)) as watch:
            added, end = watch.streamed_list()
        assert [event["object"]["metadata"]["name"] for event in added] == expected
        assert end["object"]["metadata"].keys() <= {"resourceVersion", "creationTimestamp", "annotations"}
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_deletecollection_deletes_the_shard(obedient: APIServer, place: str) -> None:
    """And answers with the objects as a list of theirs, which says its selector."""
    path = _filled(obedient, place)
    before = obedient.get(path)
    answer = obedient.delete(_at(path, LOW))
    assert answer.names == _of(0, before)
    assert answer.body["metadata"]["shardInfo"] == {"selector": LOW}
    assert obedient.get(path).names == _of(1, before)


def test_without_the_gate_everything_comes(heedless: APIServer, namespace: str) -> None:
    """Whatever the parameter says, lists and watches are whole, and say nothing of it."""
    path = _filled(heedless, f"/api/v1/namespaces/{namespace}/secrets")
    everything = heedless.get(path).names
    for text in (LOW, HIGH, "nonsense", " "):
        answer = heedless.get(_at(path, text))
        assert (answer.names, answer.body["metadata"]) == (everything, {"resourceVersion": answer.rv})
        with heedless.watch(_at(path, text, **STREAMED)) as watch:
            listed, _ = watch.streamed_list()
        assert [event["object"]["metadata"]["name"] for event in listed] == everything


def test_without_the_gate_deletecollection_deletes_everything(heedless: APIServer, namespace: str) -> None:
    """A client must know that the server obeys before it deletes by shard."""
    path = _filled(heedless, f"/api/v1/namespaces/{namespace}/secrets")
    heedless.delete(_at(path, LOW))
    assert heedless.get(path).names == []


def test_openapi_lists_the_parameter_with_and_without_the_gate(
    server: APIServer, obedient: APIServer
) -> None:
    """So the document does not tell whether the server obeys."""
    for each in (server, obedient):
        paths = each.get("/openapi/v3/api/v1").body["paths"]
        found = paths["/api/v1/namespaces/{namespace}/configmaps"]
        for method, expected in (("get", True), ("delete", True), ("post", False)):
            names = [parameter["name"] for parameter in found[method].get("parameters", ())]
            assert ("shardSelector" in names) is expected
