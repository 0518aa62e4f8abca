"""The child of one kind: whose it is, and what is written."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handloop.apis.core_v1 import Service
from handloop.apis.meta import OwnerReference
from handloop.client.errors import Conflict
from handloop.controller.myapp.changes import service_changes
from handloop.controller.myapp.child import FIELD_MANAGER, Child
from handloop.controller.myapp.desired_children import new_service
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.context import NameTakenError
from handloop.controller.runtime.reconcile import WaitError
from support.myapp_rig import MyAppRig, NotedWrites

TAKEN_BY = OwnerReference(api_version="apps/v1", kind="Deployment", name="theirs", uid="u", controller=True)


class ChildRig:
    """A MyApp on a sandbox, and its Service."""

    def __init__(self) -> None:
        self.rig = MyAppRig()
        self.rig.create_app()
        self.rig.sync_caches()
        (self.app,) = self.rig.lister_for(MyApp).list()
        self.child = Child(Service, self.rig.lister_for(Service))
        self.writes = NotedWrites()
        self.context = self.rig.context(writes=self.writes)

    def ensure(self, app: MyApp | None = None) -> tuple[Service, bool]:
        """Create or correct it."""
        chosen = app or self.app
        return self.child.ensure(chosen, new_service(chosen), service_changes, self.context)

    def cache(self, service: Service) -> None:
        """Have the cache hold this Service."""
        self.rig.caches[Service].replace([service], "1")


def test_what_is_not_there_is_created_and_noted() -> None:
    """Under our name as a field manager; the next reconcile waits for it."""
    rig = ChildRig()
    _, written = rig.ensure()
    assert written
    assert rig.rig.writes_since(0) == [("POST", "services")]
    assert rig.writes.noted == [("create", "services")]
    assert rig.rig.raw(Service)["metadata"]["managedFields"][0]["manager"] == FIELD_MANAGER


def test_what_is_as_wanted_is_not_written() -> None:
    """No request, nothing to wait for."""
    rig = ChildRig()
    service, _ = rig.ensure()
    rig.cache(service)
    begin = rig.rig.transport.requests
    assert rig.ensure() == (service, False)
    assert rig.rig.transport.requests == begin
    assert len(rig.writes.noted) == 1


def test_what_differs_is_patched_from_the_state_that_was_read() -> None:
    """A state that is no more is a Conflict."""
    rig = ChildRig()
    service, _ = rig.ensure()
    rig.cache(service)
    app = replace(rig.app, spec=replace(rig.app.spec, port=9090))
    patched, written = rig.ensure(app)
    assert written
    assert patched.spec.ports[0].port == 9090
    with pytest.raises(Conflict):
        rig.ensure(app)


def test_what_was_deleted_unseen_is_waited_for() -> None:
    """A correction of what is no more is no failure: its deletion is an event, and the next sync creates."""
    rig = ChildRig()
    service, _ = rig.ensure()
    rig.cache(service)
    rig.rig.delete(Service)
    app = replace(rig.app, spec=replace(rig.app.spec, port=9090))
    with pytest.raises(WaitError, match='Service "a" has just been deleted'):
        rig.ensure(app)
    assert len(rig.writes.noted) == 1
    rig.rig.sync_caches()
    assert rig.ensure(app)[1]


@pytest.mark.parametrize(
    ("owners", "words"),
    [
        ((), "has no owner"),
        ((TAKEN_BY,), 'belongs to Deployment "theirs"'),
        ((replace(TAKEN_BY, controller=False),), 'belongs to Deployment "theirs"'),
        ((replace(TAKEN_BY, api_version="other.com/v1", kind="MyApp", name="a"),), 'belongs to MyApp "a"'),
    ],
)
def test_somebody_elses_is_not_touched(owners: tuple[OwnerReference, ...], words: str) -> None:
    """Whatever it is; the error names the owner."""
    rig = ChildRig()
    service, _ = rig.ensure()
    rig.cache(replace(service, metadata=replace(service.metadata, owner_references=owners)))
    begin = rig.rig.transport.requests
    with pytest.raises(NameTakenError, match=f'Service "a" already exists and {words}'):
        rig.ensure()
    assert rig.child.owned(rig.app) is None
    rig.child.remove(rig.app, rig.context)
    assert rig.rig.transport.requests == begin


def test_a_predecessors_is_waited_for() -> None:
    """The UID of its owner is that of an earlier MyApp of the name."""
    rig = ChildRig()
    service, _ = rig.ensure()
    rig.cache(service)
    successor = replace(rig.app, metadata=replace(rig.app.metadata, uid="another"))
    with pytest.raises(WaitError, match="not gone yet"):
        rig.ensure(successor)
    assert rig.child.owned(successor) is None
    assert rig.child.owned(rig.app) is service


def test_what_it_owns_without_controlling_it_is_in_the_way() -> None:
    """Nobody will take away what this very MyApp owns: that is no predecessor's, and no reason to wait."""
    rig = ChildRig()
    service, _ = rig.ensure()
    owners = tuple(replace(owner, controller=False) for owner in service.metadata.owner_references)
    rig.cache(replace(service, metadata=replace(service.metadata, owner_references=owners)))
    begin = rig.rig.transport.requests
    with pytest.raises(NameTakenError, match='Service "a" already exists and belongs to MyApp "a"'):
        rig.ensure()
    assert rig.rig.transport.requests == begin


def test_what_is_being_deleted_is_left_to_go() -> None:
    """Neither corrected nor deleted again; one waits for its end, whether it is as wanted or not."""
    rig = ChildRig()
    service, _ = rig.ensure()
    going = replace(service, metadata=replace(service.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    rig.cache(going)
    begin = rig.rig.transport.requests
    for port in (rig.app.spec.port, 9090):
        with pytest.raises(WaitError, match="not gone yet"):
            rig.ensure(replace(rig.app, spec=replace(rig.app.spec, port=port)))
    with pytest.raises(WaitError):
        rig.child.remove(rig.app, rig.context)
    assert rig.rig.transport.requests == begin


def test_a_deletion_carries_the_uid() -> None:
    """A Service that has been replaced is not deleted; until the cache knows that it is gone, one waits."""
    rig = ChildRig()
    service, _ = rig.ensure()
    rig.cache(replace(service, metadata=replace(service.metadata, uid="another")))
    with pytest.raises(Conflict):
        rig.child.remove(rig.app, rig.context)
    rig.cache(service)
    for _ in range(2):
        with pytest.raises(WaitError, match="not gone yet"):
            rig.child.remove(rig.app, rig.context)
        assert not rig.rig.exists(Service)
    assert rig.writes.noted[1:] == [("delete", "services")]
    rig.rig.sync_caches()
    rig.child.remove(rig.app, rig.context)
