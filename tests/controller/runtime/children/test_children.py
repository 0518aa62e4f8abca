"""What Context.apply and prune send: on a sandbox without sockets, with caches that are filled by hand."""

from __future__ import annotations

from inspect import currentframe
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from handloop.apis.meta import FrozenMap, Kind, ObjectMeta, new_controller_ref
from handloop.apis.secret_data import secret_data
from handloop.client.errors import APIError, Conflict, Invalid
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.children.applied_fields import AppliedFields
from handloop.controller.runtime.children.owner_references import NameTakenError, with_controller
from handloop.controller.runtime.reconcile import WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.kinds.core_v1 import Secret
from handloop_sandbox.transport import BrokenConnectionError
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.rigs.context_rig import ConfigMap, Tools

K = TypeVar("K", bound=Kind)


@pytest.fixture
def tools() -> Tools:
    """No object has been applied yet."""
    return Tools()


def test_an_apply_creates_repairs_and_is_quiet(tools: Tools) -> None:
    """In the controller's name, under the owner's control, and only what differs."""
    made = tools.apply("hello")
    assert made.metadata.owner_references == (new_controller_ref(tools.owner),)
    assert tools.sync().data == {"text": "hello"}
    tools.told.clear()
    assert tools.apply("hello") == made
    assert tools.told == []
    tools.admin.resource(ConfigMap).patch("a", {"data": {"text": "spoilt"}}, namespace="default")
    tools.sync()
    repaired = tools.apply("hello")
    assert repaired.data == {"text": "hello"}
    assert tools.told == [("patch", 200)]
    assert tools.recorder.take() == []


def test_what_is_no_longer_wanted_goes(tools: Tools) -> None:
    """A revoked key, though all that is wanted is there; also one that an earlier process applied."""
    both = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=FrozenMap({"x": "1", "y": "1"}))
    tools.context.apply(both, owner=tools.owner)
    one = replace(both, data=FrozenMap({"x": "1"}))
    for context in (tools.context, tools.new_context()):
        tools.sync()
        context.apply(one, owner=tools.owner)
        assert tools.sync().data == {"x": "1"}
        tools.admin.resource(ConfigMap).get("a", namespace="default")
        tools.new_context().apply(both, owner=tools.owner)
    assert tools.sync().data == {"x": "1", "y": "1"}


@pytest.mark.parametrize("is_behind", [False, True], ids=["seen", "behind"])
def test_what_an_apply_without_an_answer_added_goes_too(tools: Tools, is_behind: bool) -> None:
    """The server has it: this process no longer knows what it applied last, whatever its cache shows."""
    one = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=FrozenMap({"x": "1"}))
    tools.context.apply(one, owner=tools.owner)
    tools.sync()
    both = replace(one, data=FrozenMap({"x": "1", "y": "1"}))
    with tools.sandbox.faults.lose_answer(verbs=["patch"]), pytest.raises(BrokenConnectionError):
        tools.context.apply(both, owner=tools.owner)
    if not is_behind:
        tools.sync()
    tools.context.apply(one, owner=tools.owner)
    assert tools.sync().data == {"x": "1"}


def test_what_an_apply_that_failed_was_to_remove_is_removed_by_the_next(tools: Tools) -> None:
    """The server did nothing, and the cache shows all wanted fields: that must not count as done."""
    both = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=FrozenMap({"x": "1", "y": "1"}))
    one = replace(both, data=FrozenMap({"x": "1"}))
    tools.context.apply(both, owner=tools.owner)
    tools.sync()
    with tools.sandbox.faults.error(500, verbs=["patch"]), pytest.raises(APIError):
        tools.context.apply(one, owner=tools.owner)
    tools.sync()
    tools.context.apply(one, owner=tools.owner)
    assert tools.sync().data == {"x": "1"}


def end(tools: Tools) -> ConfigMap:
    """Begin the deletion of `a`, which a finalizer holds up."""
    maps = tools.admin.resource(ConfigMap)
    maps.patch("a", {"metadata": {"finalizers": ["example.org/slow"]}}, namespace="default")
    maps.delete("a", namespace="default")
    live: ConfigMap = maps.get("a", namespace="default")
    return live


@pytest.mark.parametrize("cached", [False, True], ids=["behind", "cached"])
@pytest.mark.parametrize("text", ["hello", "changed"])
def test_a_child_that_is_being_deleted_is_neither_written_nor_done(
    tools: Tools, cached: bool, text: str
) -> None:
    """It is as wanted, or is not: either way it will be gone soon. No Event, for that is no failure."""
    tools.apply("hello")
    tools.sync()
    going = end(tools)
    if cached:
        tools.sync()
    elif text == "hello":
        return  # all is as wanted, as far as the cache shows
    tools.told.clear()
    with pytest.raises(WaitError, match="ConfigMap a is still being deleted"):
        tools.apply(text)
    assert tools.admin.resource(ConfigMap).get("a", namespace="default") == going
    assert (tools.told, tools.recorder.take()) == ([], [])


def test_a_predecessors_child_is_waited_for(tools: Tools) -> None:
    """Its owner has our owner's name and another UID: the garbage collector is about to delete it."""
    tools.apply("hello")
    before = tools.sync()
    recreated = replace(tools.owner, metadata=replace(tools.owner.metadata, uid="another"))
    for objects in ([before], []):
        tools.cache.replace(objects, "2")
        with pytest.raises(WaitError, match="ConfigMap a of an earlier Service owner still exists"):
            tools.apply("hello", owner=recreated)
    assert tools.sync() == before
    assert tools.recorder.take() == []


def test_a_child_that_was_orphaned_unseen_is_not_taken_back(tools: Tools) -> None:
    """The cache has it as ours: the server refuses, for it has a later version, and the live one decides."""
    tools.apply("hello")
    tools.sync()
    maps = tools.admin.resource(ConfigMap)
    maps.patch("a", {"metadata": {"ownerReferences": None}}, namespace="default")
    orphan = maps.get("a", namespace="default")
    with pytest.raises(NameTakenError, match="has no controller"):
        tools.apply("changed")
    assert maps.get("a", namespace="default") == orphan


@pytest.mark.parametrize("cached", [False, True])
def test_what_the_server_has_as_wanted_is_not_applied_again(tools: Tools, cached: bool) -> None:
    """A cache that is behind our own apply: the live object is read, and that is all."""
    if cached:
        tools.apply("earlier")
        tools.sync()
    made = tools.apply("hello")
    tools.told.clear()
    before = len(tools.trace.asked())
    assert tools.apply("hello") == made
    assert [one.verb for one in tools.trace.asked()[before:]] == ["patch", "get"]
    assert tools.told == []


def test_children_that_are_not_wanted_any_more_go(tools: Tools) -> None:
    """By the UID of their owner; those of others and of a predecessor, and those being deleted, stay."""
    maps = tools.admin.resource(ConfigMap)
    former = replace(tools.owner, metadata=replace(tools.owner.metadata, uid="former"))
    names = {"kept": tools.owner, "spare": tools.owner, "going": tools.owner, "former": former}
    for name, owner in names.items():
        maps.create(with_controller(ConfigMap.named(name, namespace="default"), owner))
    maps.create(ConfigMap.named("foreign", namespace="default"))
    maps.patch("going", {"metadata": {"finalizers": ["example.org/slow"]}}, namespace="default")
    maps.delete("going", namespace="default")
    tools.cache.replace(maps.list("default").items, "1")
    keep = [ConfigMap.named("kept")]
    going = tools.going_owner()
    assert tools.context.prune(ConfigMap, keep=keep, owner=going) == ()
    assert tools.told == []
    (gone,) = tools.context.prune(ConfigMap, keep=keep, owner=tools.owner)
    assert gone.metadata.name == "spare"
    assert tools.told == [("delete", 200)]
    left = {each.metadata.name for each in maps.list("default").items}
    assert {"kept", "going", "former", "foreign"} <= left
    assert "spare" not in left
    tools.context.prune(ConfigMap, keep=keep, owner=tools.owner)  # the cache has it still


def test_a_child_that_has_changed_is_not_pruned_unseen(tools: Tools) -> None:
    """It may have another owner now: the next try sees it."""
    tools.apply("hello")
    tools.sync()
    tools.admin.resource(ConfigMap).patch("a", {"metadata": {"ownerReferences": None}}, namespace="default")
    with pytest.raises(Conflict):
        tools.context.prune(ConfigMap, keep=(), owner=tools.owner)
    tools.sync()
    assert tools.context.prune(ConfigMap, keep=(), owner=tools.owner) == ()


@pytest.mark.parametrize(("obj", "told"), [(None, "NoneType"), ({"kind": "Secret"}, "dict")])
def test_only_objects_are_applied(tools: Tools, obj: Any, told: str) -> None:
    """A function that forgot its return, and a manifest."""
    with pytest.raises(TypeError, match=rf"such as ConfigMap\.named\(\.\.\.\), not {told}"):
        tools.context.apply(obj)


def test_string_data_is_refused(tools: Tools) -> None:
    """The server never returns it, so each reconcile would find a difference; secret_data is the way."""
    plain = Secret.named("s", namespace="default", string_data={"password": "p"})
    with pytest.raises(TypeError, match=r"use data=secret_data\(\{\.\.\.\}\)"):
        tools.context.apply(plain, owner=tools.owner)
    assert tools.told == []
    secret = Secret.named("s", namespace="default", data=secret_data({"password": "p"}))
    assert tools.context.apply(secret, owner=tools.owner).data == secret.data


def test_an_apply_without_an_owner_of_a_kind_with_owners_is_reported_once(tools: Tools) -> None:
    """With file and line; not of a kind without owners, nor of an object that names an owner itself."""
    context = Context(
        client=tools.admin,
        listers=tools,
        recorder=tools.recorder,
        applied=AppliedFields(owned=[ConfigMap.resource.group_resource]),
    )
    wanted = ConfigMap.named("a", namespace="default")
    with captured_logs() as lines:
        context.apply(with_controller(wanted, tools.owner))
        context.apply(wanted, owner=tools.owner)
        tools.context.apply(wanted)
        assert lines == []
        context.apply(wanted), context.apply(wanted)
    (line,) = lines
    assert line["log_level"] == "warning"
    here = currentframe()
    assert here is not None
    assert line["at"].startswith(f"{__file__}:")
    assert abs(int(line["at"].rpartition(":")[2]) - here.f_lineno) < 10
    assert "owner=obj" in line["fix"]
    assert line["once"]


def test_a_foreign_object_is_left_alone_and_reported(tools: Tools) -> None:
    """Its owner's people read why nothing happens; the retry looks again."""
    tools.admin.resource(ConfigMap).create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    before = tools.sync()
    with pytest.raises(NameTakenError, match="ConfigMap a already exists and has no controller") as caught:
        tools.apply("mine")
    assert caught.value.retry_seconds == 5
    assert tools.sync() == before
    assert tools.told == []
    assert tools.recorder.take() == [
        "Warning NameTaken ConfigMap a already exists and has no controller: left alone"
    ]
    other = replace(tools.owner, metadata=replace(tools.owner.metadata, name="other", uid="u"))
    tools.cache.replace([with_controller(before, other)], "2")
    with pytest.raises(NameTakenError, match="belongs to Service other"):
        tools.apply("mine")


def test_a_role_without_get_leaves_an_unseen_object_alone(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose it is cannot be looked up: the refusal stands, and the next try may see it in the cache."""
    tools.admin.resource(ConfigMap).create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))

    def forbidden(*_: object, **__: object) -> None:
        raise api_error(403, "Forbidden")

    monkeypatch.setattr(ResourceClient, "get", forbidden)
    with pytest.raises(Conflict):
        tools.apply("mine")
    assert tools.told == []


def test_nothing_is_made_for_an_owner_that_is_being_deleted(tools: Tools) -> None:
    """The garbage collector would delete it, and so on."""
    going = tools.going_owner()
    with captured_logs() as lines:
        assert tools.apply("hello", owner=going).metadata.uid == ""
    assert [line["event"] for line in lines] == ["Not applied, because its owner is being deleted"]
    assert tools.told == []
    made = tools.apply("hello")
    tools.sync()
    assert tools.apply("other", owner=going) == made


@pytest.mark.parametrize("cached", [False, True])
def test_the_server_knows_better_than_the_cache_whose_an_object_is(tools: Tools, cached: bool) -> None:
    """A foreign object that the cache lacks, or that took the place of ours; both times two requests."""
    maps = tools.admin.resource(ConfigMap)
    if cached:
        tools.apply("mine")
        tools.sync()
        maps.delete("a", namespace="default")
    theirs = maps.create(ConfigMap.named("a", namespace="default"))
    tools.told.clear()
    before = len(tools.trace.asked())
    with pytest.raises(NameTakenError, match="ConfigMap a already exists and has no controller: left alone"):
        tools.apply("changed")
    assert [one.verb for one in tools.trace.asked()[before:]] == ["patch", "get"]
    assert (maps.get("a", namespace="default"), tools.told) == (theirs, [])
    assert tools.recorder.take() == [
        "Warning NameTaken ConfigMap a already exists and has no controller: left alone"
    ]


@pytest.mark.parametrize("cached", [False, True])
def test_a_cache_that_lags_behind_ourselves_is_no_obstacle(tools: Tools, cached: bool) -> None:
    """Ours is there though the cache lacks it, or gone though the cache has it: the apply comes about."""
    made = tools.apply("hello")
    if cached:
        tools.sync()
        tools.admin.resource(ConfigMap).delete("a", namespace="default")
    stored = tools.apply("hi")
    assert stored.data == {"text": "hi"}
    assert (stored.metadata.uid == made.metadata.uid) is not cached


def test_a_creation_is_one_request_and_owned_like_an_apply(tools: Tools) -> None:
    """So a later apply removes fields that are no longer wanted; another error is not looked into."""
    tools.apply("hello")
    assert tools.trace.asked()[-1].creates
    assert tools.trace.asked()[-2].resource == "services"
    live = msgspec.json.decode(tools.admin.get_raw("/api/v1/namespaces/default/configmaps/a"))
    (entry,) = live["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("greeter", "Apply")
    tools.sync()
    before = len(tools.trace.asked())
    with pytest.raises(Invalid):
        tools.context.apply(
            ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=FrozenMap({"not valid": "x"})),
            owner=tools.owner,
        )
    assert [one.verb for one in tools.trace.asked()[before:]] == ["patch"]
