"""How kinds fit what a server publishes: against a sandbox without sockets, and answers in a row."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.client.errors import ConnectionRefused
from handloop.client.resource_client import Client
from handloop.controller.cli.fit_check import SETTLE_SECONDS, Fit, looked_at
from handloop.controller.foo.types import Foo
from handloop.controller.program import PROGRAM
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from support.builders.changed_definitions import schema_of
from support.doubles.scripted_transport import ScriptedTransport, answer
from support.rigs.managed_sandbox import post

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS: Final = "/openapi/v3/apis/samplecontroller.k8s.io/v1alpha1"
Changed = Callable[[dict[str, Any]], object]


class CertSpec(APIStruct):
    """What is asked of another program."""

    secret_name: str = ""
    colour: str = ""


class Cert(Kind, group="certs.example.org", version="v1", partial=True):
    """A view of its kind."""

    spec: CertSpec = CertSpec()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A cluster without a server; alice may do nothing in it."""
    alice = User("alice", ("system:authenticated",))
    cluster = Sandbox(token="admin", users={"alice": alice}, controllers=(), seed=1)
    yield cluster
    cluster.stop()


def install(sandbox: Sandbox, kind: type[Any], change: Changed = len) -> None:
    """Install a definition with a change of its schema."""
    definition = custom_resource_definition(kind)
    change(schema_of(definition)["properties"])
    post(sandbox, CRDS, definition)


def client_of(sandbox: Sandbox, user: str = "admin") -> Client:
    """A client without sockets."""
    return Client(sandbox.transport(token=user))  # type: ignore[arg-type] # same shapes, other classes


def look(client: Client, *others: type[Any], clock: FakeClock | None = None) -> list[Fit]:
    """How Foo fits, and kinds of others."""
    clock = clock or FakeClock(moves_itself=True)
    return looked_at(client, [Foo], others, clock, threading.Event())


def test_an_older_definition_is_e20_with_the_command(sandbox: Sandbox) -> None:
    """For any account: each has the role to read what is published."""

    def change(fields: dict[str, Any]) -> None:
        del fields["status"]["properties"]["availableReplicas"]
        fields["spec"]["properties"]["replicas"]["maximum"] = 3

    install(sandbox, Foo, change)
    (fit,) = look(client_of(sandbox, "alice"))
    problem = fit.problem(PROGRAM)
    assert problem is not None
    assert (problem.code, problem.exit_code, problem.severity) == ("E20", 6, "warning")
    assert problem.causes == (
        "the server drops status.availableReplicas",
        "spec.replicas: maximum is 10 in the type, but 3 on the server",
    )
    assert problem.fixes == ("python -m controller manifests crd | kubectl apply -f -",)


def test_a_newer_definition_fits(sandbox: Sandbox) -> None:
    """What it has beside is known; one that does not fit, too, may be the newer of the two."""
    install(sandbox, Foo, lambda fields: fields["spec"]["properties"].update(tier={"type": "string"}))
    (fit,) = look(client_of(sandbox))
    assert (fit.newer, fit.misfits, fit.problem(PROGRAM)) == (("spec.tier",), (), None)

    def rename(fields: dict[str, Any]) -> None:
        fields["spec"]["properties"]["name"] = fields["spec"]["properties"].pop("deploymentName")

    post(sandbox, CRDS, custom_resource_definition(Cert))
    sandbox.transport(token="admin").request("DELETE", f"{CRDS}/foos.samplecontroller.k8s.io")
    install(sandbox, Foo, rename)
    problem = look(client_of(sandbox))[0].problem(PROGRAM)
    assert problem is not None
    assert problem.fixes[1] == "or run a newer program release: the definition also has spec.name"


def test_kinds_of_others_are_held_against_their_views(sandbox: Sandbox) -> None:
    """Ours come first; the fix of a kind that is not ours is no command of ours."""
    install(sandbox, Foo)
    install(sandbox, Cert, lambda fields: fields["spec"]["properties"].pop("colour"))
    foo, deployment, cert = look(client_of(sandbox), Deployment, Cert)
    assert (foo.kind, deployment.kind, cert.kind) == (Foo, Deployment, Cert)
    assert foo.misfits == deployment.misfits == ()
    problem = cert.problem(PROGRAM)
    assert problem is not None
    assert problem.causes == ("the server drops spec.colour",)
    assert "install the release of certs.certs.example.org" in problem.fixes[0]


def test_a_missing_status_alone_is_not_told_twice(sandbox: Sandbox) -> None:
    """E08 says it."""
    definition = custom_resource_definition(Foo)
    del definition["spec"]["versions"][0]["subresources"]["status"]
    post(sandbox, CRDS, definition)
    (fit,) = look(client_of(sandbox))
    assert [each.rule for each in fit.misfits] == ["no-status"]
    assert fit.problem(PROGRAM) is None


def test_what_is_published_late_is_looked_at_again(sandbox: Sandbox) -> None:
    """A definition that was changed a moment ago is no misfit."""
    install(sandbox, Foo)
    now = client_of(sandbox).get_raw(FOOS)
    old = json.loads(now)
    for schema in old["components"]["schemas"].values():
        schema.get("properties", {}).pop("spec", None)
    clock = FakeClock(moves_itself=True)
    transport = ScriptedTransport([answer(200, json.dumps(old).encode()), answer(200, now)])
    (fit,) = look(Client(transport), clock=clock)
    assert (fit.misfits, clock.slept) == ((), [SETTLE_SECONDS])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (answer(404), "the server does not (yet) publish OpenAPI v3 for it"),
        (
            answer(403, b'{"kind":"Status","code":403,"message":"no"}'),
            "the server answered 403 to the request for OpenAPI v3: no",
        ),
        (answer(200, b"<html>"), "not OpenAPI v3"),
        (answer(200, b'{"components":{"schemas":{"x.Foo":1}}}'), "not a schema"),
        (answer(200, b'{"components":{"schemas":{"x.Foo":{"x-kubernetes-group-version-kind":1}}}}'), "int"),
        (answer(200, b"{}"), "the server's OpenAPI v3 does not (yet) contain the kind"),
        (ConnectionRefused("connection refused"), "connection refused"),
    ],
)
def test_what_cannot_be_known_says_why(given: Any, why: str) -> None:
    """It is no misfit, whatever a server answers."""
    (fit,) = look(Client(ScriptedTransport([given])))
    assert (fit.misfits, fit.problem(PROGRAM)) == ((), None)
    assert why in fit.unknown
