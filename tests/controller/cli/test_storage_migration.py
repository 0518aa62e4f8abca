from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport
from handloop.controller.cli import storage_migration
from handloop.controller.cli.definition_source import SourceError
from handloop.controller.cli.storage_migration import StorageMigration
from handloop.controller.foo.types import Foo
from handloop.testing.running_sandbox import RunningSandbox, running_sandbox
from handloop_sandbox.engine import ADMIN

NAME = "foos.samplecontroller.k8s.io"
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
OLD = custom_resource_definition(Foo)


def newer() -> dict[str, Any]:
    """The definition with a second version, which is stored from now on."""
    definition = copy.deepcopy(OLD)
    (old,) = definition["spec"]["versions"]
    definition["spec"]["versions"] = [{**copy.deepcopy(old), "name": "v1"}, {**old, "storage": False}]
    return definition


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Seven Foos in two namespaces, stored in the old version."""
    with running_sandbox(tmp_path) as running:
        running.apply(OLD, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        for number in range(7):
            _made(running, f"f{number}", namespace="n" if number % 2 else "default")
        running.apply(newer())
        yield running


def _made(
    sandbox: RunningSandbox, name: str, *, namespace: str = "default", version: str = "v1alpha1"
) -> None:
    metadata = {"name": name, "namespace": namespace}
    names = {"apiVersion": f"samplecontroller.k8s.io/{version}", "kind": "Foo"}
    sandbox.apply({**names, "metadata": metadata, "spec": {"deploymentName": name}})


@pytest.fixture
def migration(sandbox: RunningSandbox) -> Iterator[StorageMigration]:
    """Of Foos, without a pause."""
    with closing(HTTPTransport(load_config(kubeconfig=str(sandbox.kubeconfig)))) as transport:
        yield StorageMigration(transport, NAME, rate=1e6)


def _stored(sandbox: RunningSandbox) -> list[str]:
    versions: list[str] = sandbox.get(CRD)["status"]["storedVersions"]
    return versions


def test_every_object_is_stored_anew_and_the_definition_says_so(
    sandbox: RunningSandbox, migration: StorageMigration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pages, in all namespaces; a second run has nothing to do, and writes nothing."""
    monkeypatch.setattr(storage_migration, "_PAGE", 3)
    assert migration.old_versions() == ["v1alpha1"]
    assert migration.run()
    assert (migration.progress.done, migration.progress.moved, migration.progress.total) == (7, 7, 7)
    assert _stored(sandbox) == ["v1"]
    assert migration.old_versions() == []
    writers: list[str] = []
    sandbox.server.engine.record(lambda who, _changes: writers.append(who))
    assert migration.run()
    assert migration.progress.moved == 7
    # the cluster's own controllers may be at work
    assert ADMIN.name not in writers


def test_it_goes_on_where_it_was(sandbox: RunningSandbox, migration: StorageMigration) -> None:
    """What is stored anew already is left alone."""

    def stop(progress: storage_migration.Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    migration.tell = stop
    with pytest.raises(KeyboardInterrupt):
        migration.run()
    assert _stored(sandbox) == ["v1alpha1", "v1"]
    migration.tell = lambda _progress: None
    assert migration.run()
    assert migration.progress.moved == 7


def test_what_comes_while_it_runs_is_written_too(
    sandbox: RunningSandbox, migration: StorageMigration
) -> None:
    """Until a list has nothing new."""
    made = iter(("late", "later"))

    def tell(_progress: storage_migration.Progress) -> None:
        for name in made:
            _made(sandbox, name)

    migration.tell = tell
    assert migration.run()
    assert migration.progress.done == 9
    assert _stored(sandbox) == ["v1"]


def test_an_object_that_cannot_be_written_keeps_the_old_version(
    sandbox: RunningSandbox, migration: StorageMigration
) -> None:
    """It is named with the server's words; the others are stored anew."""
    with sandbox.faults.deny(verbs=["patch"], resources=["foos"], name="f3"):
        assert not migration.run()
    assert list(migration.progress.refused) == ["n/f3"]
    assert "forbidden" in migration.progress.refused["n/f3"]
    assert migration.progress.moved == 6
    assert _stored(sandbox) == ["v1alpha1", "v1"]


def test_what_passes_is_tried_again(sandbox: RunningSandbox, migration: StorageMigration) -> None:
    """A conflict, too many requests, an error of the server, an object that is gone."""
    for code in (409, 429, 503, 404):
        sandbox.faults.error(code, verbs=["patch"], resources=["foos"], count=1)
    assert migration.run()
    assert migration.progress.refused == {}
    assert _stored(sandbox) == ["v1"]


def test_a_definition_that_changes_meanwhile_is_left_alone(
    sandbox: RunningSandbox, migration: StorageMigration
) -> None:
    """Somebody rolled back: objects may be stored in the old version again."""
    migration.tell = lambda _progress: sandbox.apply(_back())[0]["metadata"] and None
    assert not migration.run()
    assert "v1alpha1" in _stored(sandbox)


def _back() -> dict[str, Any]:
    definition = newer()
    first, second = definition["spec"]["versions"]
    definition["spec"]["versions"] = [{**first, "storage": False}, {**second, "storage": True}]
    return definition


def test_a_definition_that_is_not_there_is_told(migration: StorageMigration) -> None:
    """In the server's words."""
    migration._name = "nothing.example.org"
    with pytest.raises(SourceError, match=r'nothing\.example\.org: .* "nothing.example.org" not found'):
        migration.old_versions()


def test_the_rate_is_kept() -> None:
    """Two writes in half a second, and none in a burst after a pause."""
    now = [100.0]
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    unused: Any = None
    migration = StorageMigration(unused, NAME, rate=4, pause=pause, clock=lambda: now[0])
    for _ in range(3):
        migration._wait()
    assert waits == [0.25, 0.25]
    now[0] += 10
    migration._wait()
    migration._wait()
    assert waits == [0.25, 0.25, 0.25]


def test_what_a_server_has_shortened_too_early_is_put_back(
    sandbox: RunningSandbox, migration: StorageMigration
) -> None:
    """Its own migration failed, and it says so; storedVersions must not say that all is done."""
    old = migration.old_versions()
    condition = {
        "type": "StorageMigrating",
        "status": "False",
        "reason": "MigrationFailed",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    assert not migration.is_doubtful()
    definition = sandbox.get(CRD)
    conditions = [*definition["status"]["conditions"], condition]
    status = {"status": {"storedVersions": ["v1"], "conditions": conditions}}
    body = json.dumps(status).encode()
    headers = {"Content-Type": "application/merge-patch+json"}
    assert migration._transport.request("PATCH", f"{CRD}/status", headers=headers, body=body).status == 200
    assert migration.old_versions() == []
    assert migration.is_doubtful()
    migration.put_back(old)
    migration.put_back(old)
    assert _stored(sandbox) == ["v1alpha1", "v1"]
    assert migration.run()
    assert _stored(sandbox) == ["v1"]
