from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import (
    NotFound,
    ServiceUnavailable,
)
from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import ConfigMap, Namespace
from handloop.testing import running_sandbox as module
from handloop.testing.running_sandbox import RefusedError, RunningSandbox, running_sandbox

_FOO = """
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: a}
spec: {deploymentName: a, replicas: 1}
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningSandbox]:
    """A sandbox on which nothing happens by itself."""
    with running_sandbox(tmp_path, controllers=(), seed=1) as found:
        yield found


def test_manifests_are_applied_as_they_come(running: RunningSandbox, tmp_path: Path) -> None:
    """Dicts, texts with several documents, files; a kind may follow its definition; twice changes nothing."""
    path = tmp_path / "foo.yaml"
    path.write_text(f"{_FOO}---\n---\n{_FOO.replace('name: a', 'name: b')}", encoding="utf-8")
    definition, first, second = running.apply(custom_resource_definition(Foo), path)
    assert (definition["kind"], first["metadata"]["name"], second["metadata"]["name"]) == (
        "CustomResourceDefinition",
        "a",
        "b",
    )
    (again,) = running.apply(_FOO)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    (namespace,) = running.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    assert namespace["metadata"]["uid"]


def test_a_definition_whose_names_are_taken_is_reported(
    running: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored, and would never be served."""
    monkeypatch.setattr(module, "_ESTABLISHED_TRIES", 5)

    class Thing(Kind, group="example.org", version="v1"):
        """The one that comes first."""

    class Other(Kind, group="example.org", version="v1", kind="Thing", plural="others", singular="other"):
        """Wants its kind, too."""

    running.apply(custom_resource_definition(Thing))
    with pytest.raises(RefusedError, match='is not served: "ThingList" is already in use'):
        running.apply(custom_resource_definition(Other))


def test_a_refusal_is_reported(running: RunningSandbox) -> None:
    """Unknown kinds, invalid objects and missing paths raise with the server's words."""
    with pytest.raises(RefusedError, match="no kind Nonsense in v1"):
        running.apply({"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "a"}})
    with pytest.raises(RefusedError, match="RFC 1123"):
        running.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A_"}})
    with pytest.raises(RefusedError, match="not found"):
        running.get("/api/v1/namespaces/default/configmaps/a")


@pytest.mark.parametrize(
    ("manifest", "error", "message"),
    [
        ("manifests/foo.yaml", TypeError, "'manifests/foo.yaml'; pass a file as a Path"),
        ("- a\n- b", TypeError, r"not an object: \['a', 'b'\]"),
        ([{"kind": "ConfigMap"}], TypeError, "not a list; pass each separately"),
        (None, TypeError, "not a NoneType"),
        ({"kind": "ConfigMap"}, ValueError, "an object to apply needs apiVersion: {'kind': 'ConfigMap'}"),
        ({"apiVersion": "v1", "metadata": {"name": "a"}}, ValueError, "needs kind"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, ValueError, r"needs metadata\.name"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}, ValueError, r"needs metadata\.name"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a"}},
            ValueError,
            r"needs metadata\.name",
        ),
    ],
)
def test_a_file_that_is_no_manifest_is_reported(
    running: RunningSandbox, manifest: Any, error: type[Exception], message: str
) -> None:
    """Before any of the handed-in objects is applied."""
    good = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}}
    with pytest.raises(error, match=message):
        running.apply(good, manifest)
    with pytest.raises(RefusedError, match="not found"):
        running.get("/api/v1/namespaces/default/configmaps/good")


def test_objects_are_read_and_deleted_by_kind(running: RunningSandbox) -> None:
    """Also cluster-scoped ones; an object that is not there is NotFound, as of every client."""
    running.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    running.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})
    assert running.get(Namespace, "n").metadata.name == "n"
    assert running.get(ConfigMap, "a", namespace="n").metadata.namespace == "n"
    running.delete(ConfigMap, "a", namespace="n")
    running.wait_for_gone(ConfigMap, "a", namespace="n")
    with pytest.raises(NotFound):
        running.get(ConfigMap, "a", namespace="n")


def test_a_wait_reports_the_last_value(running: RunningSandbox) -> None:
    """The object that is not as wanted, or its absence."""
    with pytest.raises(AssertionError, match="still not as wanted, the ConfigMap default/a") as failed:
        running.wait_for(ConfigMap, "a", seconds=0)
    assert failed.value.__notes__ == ["current state: it does not exist"]
    running.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert running.wait_for(ConfigMap, "a").metadata.name == "a"
    with pytest.raises(AssertionError) as failed:
        running.wait_for(ConfigMap, "a", lambda found: found.data, seconds=0)
    assert "ConfigMap" in failed.value.__notes__[0]
    with pytest.raises(AssertionError, match="rid of the ConfigMap default/a"):
        running.wait_for_gone(ConfigMap, "a", seconds=0)


def test_requests_are_kept_but_for_the_fixtures_own(running: RunningSandbox) -> None:
    """Of all programs, or of those of one user agent."""
    running.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    transport: Any = running.server.transport()
    other = Client(transport, user_agent="other/1").resource(ConfigMap)
    other.get("a", namespace="default")
    other.delete("a", namespace="default")
    assert [str(one) for one in running.asked()] == [
        f"{verb} configmaps default/a" for verb in ("get", "delete")
    ]
    assert [one.verb for one in running.writes("other/")] == ["delete"]
    assert running.asked("nobody") == []
    assert [one.verb for one in running.writes("sandbox-fixture")] == ["patch"]


def test_the_client_is_typed_and_meets_faults(running: RunningSandbox) -> None:
    """It goes over HTTP with the kubeconfig; it is one and the same."""
    running.apply(custom_resource_definition(Foo), _FOO)
    foos = running.client.resource(Foo)
    assert [foo.metadata.name for foo in foos.list("default").items] == ["a"]
    assert running.client is running.client
    with running.faults.error(503), pytest.raises(ServiceUnavailable):
        foos.list("default")
    assert running.url in running.kubeconfig.read_text()
    assert running.token


def test_time_is_the_tests(running: RunningSandbox) -> None:
    """The clock moves the running server."""
    running.clock.freeze()
    before = running.server.engine.now()
    running.clock.advance(3600)
    assert running.server.engine.now() == before + 3600
