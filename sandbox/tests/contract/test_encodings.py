"""What a client may ask to be left out of answers, or to be compressed in them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from support.servers.api_server import Answer, APIServer

DROP = "application/json;drop=metadata.managedFields"
GZIP = {"Accept-Encoding": "gzip"}
# 3 ConfigMaps of this size make a list above the 128 KiB from which on a server compresses
THIRD = "x" * 50_000


@pytest.fixture
def config_maps(server: APIServer, namespace: str) -> str:
    """The path of three ConfigMaps."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(3):
        assert server.create(path, {"metadata": {"name": f"c{number}"}, "data": {"x": THIRD}}).status == 201
    return path


def names_in(answer: Answer) -> list[str]:
    """The names in a compressed list, which a reader of JSON takes for text."""
    listed: Any = json.loads(gzip.decompress(answer.raw))
    return [item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"][1:].isdigit()]


def test_a_large_list_comes_in_gzip(server: APIServer, config_maps: str) -> None:
    """The answer says so, and that it depends on the question."""
    answer = server.get(config_maps, headers=GZIP)
    assert (answer.field("Content-Encoding"), answer.field("Vary")) == ("gzip", "Accept-Encoding")
    assert answer.content_type == "application/json"
    assert len(answer.raw) < 10_000
    assert names_in(answer) == ["c0", "c1", "c2"]


@pytest.mark.parametrize(
    "accept_encoding", ["", "identity", "deflate", "br, zstd", "GZIP", "gzip;q=1", "x-gzip", "*"]
)
def test_nobody_gets_gzip_who_does_not_ask_for_it(
    server: APIServer, config_maps: str, accept_encoding: str
) -> None:
    """The token is compared as it stands, without a quality."""
    answer = server.get(config_maps, headers={"Accept-Encoding": accept_encoding})
    assert answer.field("Content-Encoding") == ""
    assert len(answer.body["items"]) >= 3


def test_gzip_among_others_is_asked_for(server: APIServer, config_maps: str) -> None:
    """As by browsers."""
    answer = server.get(config_maps, headers={"Accept-Encoding": "deflate , gzip, br"})
    assert answer.field("Content-Encoding") == "gzip"


def test_one_object_and_the_answer_to_a_write_come_in_gzip(server: APIServer, config_maps: str) -> None:
    """It is the size that counts, and not the verb."""
    data = {"data": {"y": THIRD, "z": THIRD}}
    patched = server.patch(f"{config_maps}/c0", data, headers=GZIP)
    got = server.get(f"{config_maps}/c0", headers=GZIP)
    assert [each.field("Content-Encoding") for each in (patched, got)] == ["gzip", "gzip"]
    assert gzip.decompress(patched.raw) == gzip.decompress(got.raw)


def test_small_answers_and_errors_come_as_they_are(server: APIServer, config_maps: str) -> None:
    """Up to 128 KiB compression costs more than it saves."""
    small = server.get(f"{config_maps}?limit=1", headers=GZIP)
    refused = server.get(f"{config_maps}/none", headers=GZIP)
    seen = [(each.status, each.field("Content-Encoding")) for each in (small, refused)]
    assert seen == [(200, ""), (404, "")]


def test_a_watch_is_not_compressed(server: APIServer, config_maps: str) -> None:
    """Until 1.37, which compresses streamed lists."""
    streamed = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with server.watch(f"{config_maps}?{streamed}", headers=GZIP) as watch:
        assert "content-encoding" not in {name.lower() for name, _ in watch.headers}
        watch.count(3)


@pytest.mark.parametrize("suffix", ["", "/c0", "?watch=true&resourceVersion=0&timeoutSeconds=1"])
def test_to_drop_managed_fields_may_be_asked_of_any_server(
    server: APIServer, config_maps: str, suffix: str
) -> None:
    """A server that knows KEP-5958 obeys, another one ignores the parameter; none refuses it."""
    answer = server.get(f"{config_maps}{suffix}", accept=DROP)
    assert (answer.status, answer.content_type) == (200, "application/json")


def test_the_parameter_may_stand_beside_others(server: APIServer, config_maps: str) -> None:
    """Partial objects come with it as without."""
    partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io;drop=metadata.managedFields"
    assert server.get(f"{config_maps}/c0", accept=partial).body["kind"] == "PartialObjectMetadata"
