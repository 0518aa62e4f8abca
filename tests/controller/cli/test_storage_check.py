"""What a program that was rolled back is told before it writes, by a sandbox with the newer definition."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.client.resource_client import Client
from handloop.controller.cli.problems import Problem
from handloop.controller.cli.storage_check import storage_problems
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from support.rigs.managed_sandbox import post

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class OldSpec(APIStruct):
    """As it was."""

    size: int = 1


class Old(Kind, group="example.org", version="v1beta1", kind="Site"):
    """The version of the program that was rolled back."""

    spec: OldSpec = OldSpec()


class Part(APIStruct):
    """New."""

    name: str = ""


class Spec(APIStruct):
    """With more."""

    size: int = 1
    note: str = ""
    parts: tuple[Part, ...] = ()


class Site(Kind, group="example.org", version="v1", previous=Old):
    """The version of the definition."""

    spec: Spec = Spec()


def _told(
    kind: type[Kind] = Old, *, user: str = "admin", storage: str | None = None, **changes: Any
) -> list[Problem]:
    """What is found on a server with both versions, of which the newest is stored."""
    sandbox = Sandbox(
        token="admin", users={"alice": User("alice", ("system:authenticated",))}, controllers=(), seed=1
    )
    definition = custom_resource_definition(Site)
    definition["spec"] |= changes
    post(sandbox, CRDS, definition)
    client = Client(sandbox.transport(token=user))  # type: ignore[arg-type] # same shapes, other classes
    discovery = client.discovery()
    served = discovery.resources("example.org", kind.resource.version)
    assert served is not None
    found = served.find("sites")
    assert found is not None
    newest = discovery.storage_version(kind.resource, found.storage_version_hash)
    return list(storage_problems(client, kind, newest if storage is None else storage))


@pytest.mark.parametrize("user", ["admin", "alice"])
def test_what_a_write_would_erase(user: str) -> None:
    """Every account is told the fields; the strategy only one that may read definitions."""
    (problem,) = _told(user=user)
    assert (problem.code, problem.exit_code, problem.severity) == ("E21", 6, "error")
    where = "objects of sites.example.org may be stored as v1; the program works with v1beta1"
    assert problem.what == where
    assert problem.causes[0] == "each write, even of the status, erases: spec.note, spec.parts"
    assert ("unless a webhook" in problem.causes[1]) == (user == "alice")


def test_the_newest_program_has_nothing_to_lose() -> None:
    """It knows every version in which objects are stored."""
    assert _told(Site) == []


def test_an_older_storage_drops_what_is_written() -> None:
    """The other direction: a program whose fields the stored version lacks."""
    versions = custom_resource_definition(Site)["spec"]["versions"]
    for version in versions:
        version["storage"] = not version["storage"]
    (problem,) = _told(Site, versions=versions)
    assert problem.causes[0] == (
        "the server drops these fields from this program's writes: spec.note, spec.parts"
    )


def test_a_webhook_has_to_run() -> None:
    """Nothing is erased then, and nothing can be read without the other release."""
    client = {"url": "https://127.0.0.1:1"}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    (problem,) = _told(conversion={"strategy": "Webhook", "webhook": webhook})
    assert (problem.code, problem.exit_code, problem.severity) == ("E21", 0, "warning")
    assert "keep a replica" in problem.fixes[0]


def test_a_version_that_is_not_served_is_told_all_the_same() -> None:
    """Its schema cannot be asked for, so nobody knows the fields."""
    (problem,) = _told(user="alice", storage="v9")
    assert (problem.code, problem.severity) == ("E21", "warning")
    assert "the server does not say" in problem.causes[0]
