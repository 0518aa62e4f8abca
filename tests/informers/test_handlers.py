from __future__ import annotations

from functools import partial

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.handlers import (
    FilteringResourceEventHandler,
    ResourceEventHandlerFuncs,
    handler_name,
)
from handloop.informers.keys import DeletedFinalStateUnknown, final_state
from support.builders.deployments import deployment
from support.doubles.recording_handler import RecordingHandler

Tombstone = DeletedFinalStateUnknown[Deployment]

HIDDEN = deployment("a", 1)
SHOWN = deployment("a", 2, labels={"shown": "yes"})
SHOWN_LATER = deployment("a", 3, labels={"shown": "yes"})


def is_shown(obj: Deployment | Tombstone) -> bool:
    known = final_state(obj)
    return known is not None and "shown" in known.metadata.labels


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        (HIDDEN, SHOWN, ["add a 2 late"]),
        (SHOWN, HIDDEN, ["delete a 2"]),
        (SHOWN, SHOWN_LATER, ["update a 2 3"]),
        (HIDDEN, deployment("a", 2), []),
    ],
    ids=["begins to pass", "ceases to pass", "passes", "never passes"],
)
def test_filter_turns_an_update_into_what_its_handler_can_see(
    old: Deployment, new: Deployment, seen: list[str]
) -> None:
    """An object that begins to pass is added, not initially; one that ceases is deleted."""
    recorder = RecordingHandler()
    FilteringResourceEventHandler(filter_func=is_shown, handler=recorder).on_update(old, new)
    assert recorder.seen() == seen


def test_filter_asks_about_the_new_state_first() -> None:
    """The filter sees the new state of an update, then the old one."""
    asked: list[str] = []

    def record(obj: Deployment | Tombstone) -> bool:
        asked.append(final_state(obj).metadata.resource_version)  # type: ignore[union-attr]
        return True

    FilteringResourceEventHandler(filter_func=record, handler=RecordingHandler()).on_update(HIDDEN, SHOWN)
    assert asked == ["2", "1"]


def test_filter_passes_adds_and_deletes_that_it_lets_through() -> None:
    """Add keeps its initial mark, a tombstone is judged by what it knows."""
    recorder = RecordingHandler()
    handler = FilteringResourceEventHandler(filter_func=is_shown, handler=recorder)
    handler.on_add(SHOWN, True)
    handler.on_add(HIDDEN, True)
    handler.on_delete(DeletedFinalStateUnknown("default/a", SHOWN))
    handler.on_delete(DeletedFinalStateUnknown("default/a", None))
    handler.on_delete(HIDDEN)
    assert recorder.seen() == ["add a 2 initial", "delete default/a gone"]


def test_functions_are_called_with_what_happened() -> None:
    """Each function gets its kind of event, the add function without the initial mark."""
    calls: list[object] = []
    handler: ResourceEventHandlerFuncs[Deployment] = ResourceEventHandlerFuncs(
        add_func=calls.append, update_func=lambda old, new: calls.append((old, new)), delete_func=calls.append
    )
    handler.on_add(HIDDEN, True)
    handler.on_update(HIDDEN, SHOWN)
    handler.on_delete(SHOWN)
    assert calls == [HIDDEN, (HIDDEN, SHOWN), SHOWN]


def test_missing_functions_ignore_their_events() -> None:
    """A handler without functions does nothing, for any notification."""
    handler: ResourceEventHandlerFuncs[Deployment] = ResourceEventHandlerFuncs()
    handler.on_add(HIDDEN, True)
    handler.on_update(HIDDEN, SHOWN)
    handler.on_delete(SHOWN)
    assert handler.functions == ()


class Owner:
    def added(self, obj: Deployment) -> None:
        """Nothing."""

    def deleted(self, obj: object) -> None:
        """Nothing."""


def free_function(obj: object) -> None:
    """Nothing."""


def test_handler_is_named_after_its_functions_or_its_type() -> None:
    """One common qualifier, else the names joined by "+"; other handlers by their type."""
    owner = Owner()
    module = Owner.__module__
    common: ResourceEventHandlerFuncs[Deployment] = ResourceEventHandlerFuncs(
        add_func=owner.added, delete_func=owner.deleted
    )
    mixed: ResourceEventHandlerFuncs[Deployment] = ResourceEventHandlerFuncs(
        add_func=owner.added, delete_func=free_function
    )
    unnamed: ResourceEventHandlerFuncs[Deployment] = ResourceEventHandlerFuncs(
        add_func=owner.added, delete_func=partial(free_function)
    )
    assert handler_name(common) == f"{module}.Owner"
    assert handler_name(mixed) == f"{module}.Owner.added+{module}.free_function"
    assert handler_name(unnamed) == f"{module}.Owner.added+functools.partial"
    assert handler_name(RecordingHandler()) == "support.doubles.recording_handler.RecordingHandler"
    assert (
        handler_name(ResourceEventHandlerFuncs()) == "handloop.informers.handlers.ResourceEventHandlerFuncs"
    )
