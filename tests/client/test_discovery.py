from __future__ import annotations

import pytest

from handloop.apis.resource import Resource
from handloop.client.discovery import Discovery, GroupResources, ServedResource, Version
from handloop.client.errors import DecodeError, Forbidden
from handloop.client.rest_client import RESTClient
from handloop.controller.foo.types import Foo
from support.doubles.scripted_transport import ScriptedTransport, answer

NOT_FOUND = answer(404, b"404 page not found\n")
FOOS = answer(
    200,
    b'{"kind":"APIResourceList","resources":['
    b'{"name":"foos","singularName":"foo","namespaced":true,"kind":"Foo","verbs":["get","list","watch"]},'
    b'{"name":"foos/status","namespaced":true,"kind":"Foo","verbs":["get","patch","update"]},'
    b'{"name":"bars","namespaced":false,"kind":"Bar","verbs":["get"],"shortNames":["b"]}]}',
)


def discovery(*answers: object) -> tuple[Discovery, ScriptedTransport]:
    transport = ScriptedTransport(answers)  # type: ignore[arg-type]
    return Discovery(RESTClient(transport)), transport


def test_version() -> None:
    """The version in its usual form."""
    found, transport = discovery(
        answer(200, b'{"major":"1","minor":"32+","gitVersion":"v1.32.4","platform":"x"}')
    )
    assert found.version() == Version("1", "32+", "v1.32.4", "x")
    assert transport.sent[0].path == "/version"
    assert str(Version(major="1", minor="30")) == "v1.30"


def test_resources_of_a_group_and_version() -> None:
    """Resources, their verbs and their subresources can be asked for."""
    found, transport = discovery(FOOS)
    resources = found.resources("samplecontroller.k8s.io", "v1alpha1")
    assert transport.sent[0].path == "/apis/samplecontroller.k8s.io/v1alpha1"
    assert resources is not None
    foos = resources.find("foos")
    assert foos is not None
    assert (foos.kind, foos.namespaced, foos.verbs) == ("Foo", True, ("get", "list", "watch"))
    assert resources.subresources("foos") == {"status"}
    assert resources.subresources("bars") == frozenset()
    status = resources.find("foos", "status")
    assert status is not None
    assert "update" in status.verbs
    assert resources.find("foos", "scale") is None
    assert resources.find("nothing") is None


def test_null_in_place_of_a_list_is_an_empty_list() -> None:
    """As Go's servers, such as an aggregated one that has no resources at the moment, write it."""
    nothing = answer(200, b'{"kind":"APIResourceList","resources":null}')
    custom = answer(200, b'{"resources":[{"name":"pods/x","shortNames":null,"verbs":null}]}')
    found, _ = discovery(nothing, custom)
    assert found.resources("custom.metrics.k8s.io", "v1beta1") == GroupResources()
    assert found.resources("custom.metrics.k8s.io", "v1beta1") == GroupResources((ServedResource("pods/x"),))


def test_a_group_that_is_not_served_is_empty() -> None:
    """E07: a missing CRD is an answer, not an error."""
    found, _ = discovery(NOT_FOUND, NOT_FOUND)
    assert found.resources("samplecontroller.k8s.io", "v1alpha1") is None
    assert found.versions("samplecontroller.k8s.io") == ()


def test_versions_with_the_preferred_one_first() -> None:
    """E08: which versions a CRD serves instead of ours."""
    body = (
        b'{"kind":"APIGroup","name":"g","versions":[{"version":"v1"},{"version":"v1beta1"}],'
        b'"preferredVersion":{"version":"v1beta1"}}'
    )
    found, _ = discovery(answer(200, body))
    assert found.versions("g") == ("v1beta1", "v1")


def test_other_failures_are_raised() -> None:
    """Being forbidden to ask proves nothing about the served kinds."""
    found, _ = discovery(answer(403, b"{}"), answer(200, b"<html>"))
    with pytest.raises(Forbidden):
        found.resources("g", "v1")
    with pytest.raises(DecodeError, match="/version"):
        found.version()


GROUPS = answer(
    200,
    b'{"kind":"APIGroupList","groups":['
    b'{"name":"samplecontroler.k8s.io","preferredVersion":{"version":"v1"}},'
    b'{"name":"samplecontroller.example.com","preferredVersion":{"version":"v1alpha1"}},'
    b'{"name":"apps","preferredVersion":{"version":"v1"}}]}',
)
OTHERS = answer(200, b'{"kind":"APIResourceList","resources":[{"name":"others"}]}')


def test_a_group_that_is_misspelt_is_found() -> None:
    """The nearest group of those that have the resource, in its preferred version."""
    found, transport = discovery(NOT_FOUND, GROUPS, OTHERS, FOOS)
    assert found.nearest(Foo.resource) == "foos.samplecontroller.example.com/v1alpha1"
    assert [sent.path for sent in transport.sent] == [
        "/apis/samplecontroller.k8s.io/v1alpha1",
        "/apis",
        "/apis/samplecontroler.k8s.io/v1",
        "/apis/samplecontroller.example.com/v1alpha1",
    ]


def test_a_plural_that_is_misspelt_is_found() -> None:
    """In its group and version; a subresource does not count."""
    found, _ = discovery(FOOS)
    resource = Resource("samplecontroller.k8s.io", "v1alpha1", "fooes", "Foo")
    assert found.nearest(resource) == "foos.samplecontroller.k8s.io/v1alpha1"
    core, _ = discovery(FOOS)
    assert core.nearest(Resource("", "v1", "fooos", "Foo")) == "foos/v1"


def test_what_is_like_nothing_has_no_neighbour() -> None:
    """Neither in groups nor in names."""
    found, _ = discovery(NOT_FOUND, GROUPS)
    assert found.nearest(Resource("m.example.org", "v1", "things", "Thing")) == ""
    other, _ = discovery(OTHERS)
    assert other.nearest(Foo.resource) == ""
    missing, _ = discovery(NOT_FOUND, GROUPS, OTHERS, OTHERS)
    assert missing.nearest(Foo.resource) == ""


def test_a_server_that_hides_its_groups_has_no_neighbour() -> None:
    """It is a question on the way to a better message, and its failure must not become the message."""
    found, _ = discovery(NOT_FOUND, answer(403, b""))
    assert found.nearest(Foo.resource) == ""
