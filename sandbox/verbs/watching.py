"""
GET with watch=true: check what is asked and where in the history it starts.

Follows: apiserver pkg/endpoints/handlers/get.go (ListResource with watch), pkg/storage/cacher (Watch).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from handloop.sandbox.kinds import typed
from handloop.sandbox.requests.call import Call
from handloop.sandbox.requests.conversion import EVENTS
from handloop.sandbox.requests.request import WatchResponse
from handloop.sandbox.storage.stored import Object, Stored
from handloop.sandbox.storage.watches import Subscription, too_old
from handloop.sandbox.verbs.reading import predicate
from handloop.sandbox.wire import field_selector
from handloop.sandbox.wire.options import ListOptions, list_options, watch_resource_version
from handloop.sandbox.wire.status import Status, failure

_MIN_TIMEOUT_SECONDS: Final = 1800
_EXPIRED_WATCH: Final = "The resourceVersion for the provided watch is too old."


def watch(call: Call) -> WatchResponse:
    """Answer 200 with a stream."""
    options = _options(call)
    field_selector.check_supported(options.fields, call.resource)
    rv = watch_resource_version(options.resource_version)
    subscription = _subscription(call, options, rv)
    return WatchResponse(call.headers(), subscription)


def _options(call: Call) -> ListOptions:
    options = list_options(call.request.query, watch=True)
    if call.name:  # /watch/.../NAME
        term = field_selector.FieldTerm("metadata.name", equal=True, value=call.name)
        return replace(options, fields=(*options.fields, term))
    return options


def _subscription(call: Call, options: ListOptions, rv: int | None) -> Subscription:
    collection = call.state.collection(call.collection)
    current = call.state.resource_version
    history = collection.history
    with_state = not rv or options.send_initial_events is True
    if options.send_initial_events is False:
        with_state = False
    base = Subscription(
        group_resource=call.collection,
        namespace=call.namespace,
        matches=predicate(call, options),
        presentation=call.presentation(),
        bookmark_object=_bookmark_object(call),
        position=history.end if not rv or with_state else history.position_after(rv),
        rv=current if not rv or with_state else rv,
        deadline=_deadline(call, options),
        bookmarks=options.bookmarks,
    )
    if with_state:
        marked = options.send_initial_events is True and options.bookmarks
        return replace(base, initial=_present(call, base), after_initial=marked)
    if rv and (refusal := _too_old(call, rv)):
        return replace(base, refusal=refusal)
    # from a version that does not exist yet: silent until the counter has passed it
    return replace(base, silent_until=rv) if rv and rv > current else base


def _present(call: Call, subscription: Subscription) -> list[Stored]:
    collection = call.state.collection(call.collection)
    found = [collection.objects[key] for key in collection.select(call.namespace)]
    matches = subscription.matches
    return found if matches is None else [stored for stored in found if matches(stored.object)]


def _too_old(call: Call, rv: int) -> Status | None:
    floor = call.state.collection(call.collection).history.floor
    if call.collection == EVENTS and rv < call.state.compacted:
        return failure(410, "Expired", _EXPIRED_WATCH)
    return too_old(rv, floor) if rv < floor else None


def _deadline(call: Call, options: ListOptions) -> float:
    if options.timeout_seconds:
        return call.context.now + options.timeout_seconds
    return call.context.now + _MIN_TIMEOUT_SECONDS * (1 + call.context.random.random())


def _bookmark_object(call: Call) -> Object:
    """What a bookmark carries besides its metadata: the members that the kind never omits."""
    head = {"kind": call.resource.kind, "apiVersion": call.resource.api_version}
    if call.resource.custom or call.resource.schema is None or call.collection == EVENTS:
        return head
    empty: Object = typed.decode(call.resource.schema, head, typed.Report())
    return empty
