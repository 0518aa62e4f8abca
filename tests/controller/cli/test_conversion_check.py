"""What `doctor` finds out about conversion: the definition, and an object read in each older version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.client.http.response import Headers, Response
from handloop.client.resource_client import Client
from handloop.controller.cli.conversion_check import Conversion, asked_for, conversions
from handloop.testing import FakeClock
from support.doubles.scripted_transport import ScriptedTransport


class Spec(APIStruct):
    """Nothing."""


class Old(Kind, group="example.org", version="v1beta1", kind="Site"):
    """The version before."""

    spec: Spec = Spec()


class Site(Kind, group="example.org", version="v1", previous=Old):
    """The newest."""

    spec: Spec = Spec()

    @classmethod
    def from_previous(cls, old: Old) -> Site:
        """Nothing moves."""
        return cls(metadata=old.metadata)

    def to_previous(self) -> Old:
        """Nothing moves."""
        return Old(metadata=self.metadata)


def _answer(body: dict[str, Any], status: int = 200) -> Response:
    return Response(status, Headers({}), json.dumps(body).encode())


def _definition(**client: Any) -> Response:
    made = custom_resource_definition(Site)
    made["spec"]["conversion"]["webhook"]["clientConfig"] |= client
    return _answer(made)


OBJECT = {"apiVersion": "example.org/v1", "kind": "Site", "metadata": {"name": "a", "namespace": "n"}}
TRUSTING = {"caBundle": "Q0E="}


def _found(*answers: Response, kind: type[Kind] = Site) -> tuple[list[Conversion], list[str]]:
    transport = ScriptedTransport(answers)
    return list(conversions(Client(transport), kind, FakeClock())), [sent.path for sent in transport.sent]


def _list(*items: dict[str, Any]) -> Response:
    return _answer({"kind": "SiteList", "apiVersion": "example.org/v1", "metadata": {}, "items": items})


def test_an_object_is_read_in_each_older_version() -> None:
    """With the time that it took."""
    old = _answer({**OBJECT, "apiVersion": "example.org/v1beta1"})
    found, paths = _found(_definition(**TRUSTING), _list(OBJECT), old)
    assert found == [Conversion("sites.example.org: an object was converted to v1beta1 in 0 ms")]
    assert paths[-1] == "/apis/example.org/v1beta1/namespaces/n/sites/a"


def test_what_the_server_says_is_the_problem() -> None:
    """As a client would see it."""
    text = "conversion webhook for example.org/v1, Kind=Site failed: connection refused"
    failure = _answer({"kind": "Status", "status": "Failure", "message": text, "code": 500}, 500)
    (found,), _ = _found(_definition(**TRUSTING), _list(OBJECT), failure)
    assert found.subject == "sites.example.org: not to v1beta1"
    assert text in found.problem


def test_without_an_object_nothing_is_tried() -> None:
    """And that is no problem."""
    found, _ = _found(_definition(**TRUSTING), _list())
    assert found == [Conversion("sites.example.org: there is no object to try it with")]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"conversion": {"strategy": "None"}},
            "the definition has the conversion strategy None, so fields that move are lost",
        ),
        ({}, "the definition has no caBundle yet: a replica of the program must write it"),
    ],
)
def test_a_definition_that_cannot_work_is_a_problem(change: dict[str, Any], told: str) -> None:
    """No object has to be tried."""
    made = custom_resource_definition(Site)
    made["spec"] |= change
    found, paths = _found(_answer(made), _list(OBJECT))
    assert found == [Conversion(f"sites.example.org: {told}", told)]
    assert len(paths) == 2


def test_versions_that_somebody_asks_for_are_named() -> None:
    """By the server's metrics; a server that does not show them names none."""
    labels = 'group="example.org",removed_release="",resource="{}",subresource="",version="v1beta1"'
    lines = [f"apiserver_requested_deprecated_apis{{{labels.format(each)}}} 1" for each in ("sites", "shops")]
    page = "\n".join(["# TYPE apiserver_requested_deprecated_apis gauge", *lines]).encode()
    shown = Client(ScriptedTransport([Response(200, Headers({}), page)]))
    assert list(asked_for(shown, [Site])) == ["sites.example.org/v1beta1"]
    refused = Client(ScriptedTransport([_answer({"kind": "Status", "code": 403}, 403)]))
    assert list(asked_for(refused, [Site])) == []
    assert list(asked_for(Client(ScriptedTransport()), [Old])) == []


def test_a_definition_with_one_version_has_nothing_to_convert() -> None:
    """Before the upgrade."""
    made = custom_resource_definition(Old)
    found, _ = _found(_answer(made), _list())
    assert found == [Conversion("sites.example.org: there is no object to try it with")]


def test_a_kind_without_functions_is_not_looked_at() -> None:
    """And a refusal is told."""
    assert _found(kind=Old) == ([], [])
    refused = _answer({"kind": "Status", "status": "Failure", "message": "no", "code": 403}, 403)
    (found,), _ = _found(refused)
    assert found.subject == "sites.example.org: could not be checked"
    assert "no" in found.problem
