"""Where `why` asks: a cluster in memory with Leases, pods and their proxy."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest

from handloop.client.http.response import Headers, Response
from handloop.controller.cli.why_source import ClusterSource, Question, SourceFailedError, ask_process
from handloop.controller.runtime.reconciling.explainer import Why
from handloop.controller.runtime.serving.page_server import PASSED_ON

NAMESPACE = "/api/v1/namespaces/ops-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/ops-system/leases"
OURS = Why(process="one_1", elsewhere="", holder="", explanations=())


class Server:
    """
    An API server whose pods answer.

    Fields: holders = Lease -> identity; pods = name -> what `/why` says; scheme that the pods speak; denied =
    the end of a path that is forbidden; port = the name of their port.
    """

    def __init__(self, holders: dict[str, str], pods: dict[str, Why]) -> None:
        self.holders, self.pods = holders, pods
        self.scheme, self.denied, self.port = "https", "nothing", "metrics"
        self.asked: list[str] = []

    def request(self, method: str, path: str, **options: Any) -> Response:
        self.asked.append(f"{method} {unquote(path)}")
        if unquote(path).endswith(self.denied):
            text = 'pods "x" is forbidden: cannot get resource "pods/proxy"'
            return _answer(403, {"kind": "Status", "message": text})
        if path == LEASES:
            items = [
                {"metadata": {"name": n}, "spec": {"holderIdentity": i}} for n, i in self.holders.items()
            ]
            return _answer(200, {"items": items})
        if path == f"{NAMESPACE}/serviceaccounts/ops/token":
            return _answer(201, {"status": {"token": "secret"}})
        name = unquote(path).removeprefix(f"{NAMESPACE}/pods/")
        if name.endswith("/proxy/why"):
            scheme, pod, port = name.removesuffix("/proxy/why").split(":")
            assert (options["headers"], port) == ({PASSED_ON: "Bearer secret"}, "8443")
            assert options["query"] == {"name": "n/a", "controller": "", "o": "json"}
            return _answer(200, self.pods[pod]) if scheme == self.scheme else _answer(503, {"message": "tls"})
        if name not in self.pods:
            return _answer(404, {"message": "not found"}) if name else _answer(200, {"kind": "PodList"})
        port_of = {"ports": [{"name": self.port, "containerPort": 8443}]}
        spec = {"serviceAccountName": "ops", "containers": [{}, port_of]}
        return _answer(200, {"metadata": {"name": name}, "spec": spec})

    def ask(self) -> Why:
        return ClusterSource(self, "ops-system", "ops").ask(Question("n/a"))  # type: ignore[arg-type]


def _answer(status: int, body: Any) -> Response:
    return Response(status, Headers({}), msgspec.json.encode(body))


def test_the_leader_is_asked_with_a_token_of_its_own_account() -> None:
    """The user's token stays with the API server."""
    server = Server({"other": "two_2", "ops": "one_1"}, {"one": OURS, "two": OURS})
    assert server.ask() == OURS
    assert server.asked == [
        f"GET {LEASES}",
        f"GET {NAMESPACE}/pods/one",
        f"POST {NAMESPACE}/serviceaccounts/ops/token",
        f"GET {NAMESPACE}/pods/https:one:8443/proxy/why",
    ]


def test_the_holder_of_the_slot_is_found_by_asking_any_replica() -> None:
    """Once: it does not ask for ever while a slot moves."""
    said = Why(process="one_1", elsewhere="slot 7 is held by two_2", holder="two_2", explanations=())
    ours = Why(process="two_2", elsewhere="", holder="one_1", explanations=())
    server = Server({"ops-member-x": "one_1", "ops-member-y": "two_2"}, {"one": said, "two": ours})
    assert server.ask() == ours
    assert sum(each.endswith("/why") for each in server.asked) == 2


def test_plain_http_is_tried_when_tls_fails() -> None:
    """A program without --metrics-auth on loopback of its pod is not reached: its answer says so."""
    server = Server({"ops": "one_1"}, {"one": OURS})
    server.scheme = "http"
    assert server.ask() == OURS


@pytest.mark.parametrize("denied", ["/leases", "/pods/one", "/token", "/proxy/why"])
def test_a_missing_right_comes_with_its_role(denied: str) -> None:
    """All of it, to be applied and bound."""
    server = Server({"ops": "one_1"}, {"one": OURS})
    server.denied = denied
    with pytest.raises(SourceFailedError, match="you may not") as failed:
        server.ask()
    for word in ("leases", "pods/proxy", "serviceaccounts/token", "name: ops-why, namespace: ops-system"):
        assert word in failed.value.fix


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"holders": {}}, "no Lease of ops in namespace ops-system is held"),
        ({"holders": {"ops": ""}}, "no Lease of ops"),
        ({"holders": {"ops": "laptop_1"}}, "the holder laptop_1 is not a pod: use --address with"),
        ({"holders": {"ops": "laptop"}}, "the holder laptop is not a pod: use --address with"),
        ({"port": "web"}, "no port of pod one is called metrics"),
    ],
)
def test_who_cannot_be_asked_is_told(change: dict[str, Any], told: str) -> None:
    """With what to type in its place."""
    server = Server({"ops": "one_1"}, {"one": OURS})
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(SourceFailedError, match=told):
        server.ask()


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, b"404 page not found", "answers 404"),
        (200, b"<html>", "not answer as handloop"),
        (403, b"only", "403: only"),
    ],
)
def test_an_address_of_something_else_is_told(status: int, body: bytes, told: str) -> None:
    """Another server, or an earlier version."""

    class Other:
        def request(self, *_: Any, **_more: Any) -> Response:
            return Response(status, Headers({}), body)

    with pytest.raises(SourceFailedError, match=told):
        ask_process(Other(), Question("n/a"))  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [b"upstream connect error", b"\xff", b"[]"])
def test_a_page_in_place_of_an_object_is_told(body: bytes) -> None:
    """A load balancer in front of the API server answers in its own way."""

    class Balancer:
        def request(self, *_: Any, **_more: Any) -> Response:
            return Response(503, Headers({}), body)

    with pytest.raises(SourceFailedError, match="cannot list leases in namespace ns: the server answers 503"):
        ClusterSource(Balancer(), "ns", "ops").ask(Question("n/a"))  # type: ignore[arg-type]


def test_a_name_is_data() -> None:
    """It goes into the query, whatever is in it."""
    assert json.loads(json.dumps(Question("n/a&o=text").query))["name"] == "n/a&o=text"
