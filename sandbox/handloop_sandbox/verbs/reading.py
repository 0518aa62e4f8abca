"""
GET: reads an object or a list, or starts a watch.

A watch starts at a position in the history. The engine then sends the events.
Follows: apiserver pkg/endpoints/handlers/get.go (ListResource, with watch), pkg/storage/etcd3/store.go
(GetList), pkg/storage/cacher (Watch).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.events import EVENTS
from handloop_sandbox.custom.versions import served_form
from handloop_sandbox.grammar.fields import NAME, FieldTerm, exact, matcher
from handloop_sandbox.kinds import typed
from handloop_sandbox.requests.call import Call
from handloop_sandbox.requests.conversion import stored_field
from handloop_sandbox.requests.presentation import all_served
from handloop_sandbox.requests.request import Response, WatchResponse
from handloop_sandbox.requests.shard_selector import shard_info, shard_selector
from handloop_sandbox.storage.stored import Object, Stored, object_key
from handloop_sandbox.storage.watches import Subscription, too_old
from handloop_sandbox.wire import continue_token, field_selector, label_selector
from handloop_sandbox.wire.continue_token import INCONSISTENT, Continue
from handloop_sandbox.wire.conversion import ConversionFailedError
from handloop_sandbox.wire.options import (
    ListOptions,
    list_options,
    list_resource_version,
    watch_resource_version,
)
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import (
    Status,
    bad_request,
    expired,
    failure,
    initializing,
    not_found,
    too_large_resource_version,
)

_EXPIRED_CONTINUE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
_EXPIRED_LIST: Final = "The resourceVersion for the provided list is too old."

Predicate = Callable[[Object], bool]


class Page(NamedTuple):
    """The part of a list that is sent in one answer."""

    items: list[Stored]
    rv: int
    continue_: str = ""
    remaining: int | None = None


def get(call: Call) -> Response:
    """Answer 200 with the object."""
    rv = watch_resource_version(call.request.query.get("resourceVersion") or "")
    if rv is not None and rv > call.state.resource_version:
        raise too_large_resource_version(rv, call.state.resource_version)
    stored = call.read()
    if stored is None:
        raise not_found(call.resource, call.name)
    return call.answer(stored)


def list_objects(call: Call) -> Response:
    """Answer 200 with a list, or with one page of it if the client sets a limit."""
    return answer_list(call, listed(call))


def listed(call: Call) -> Page:
    """Return the objects that a list request selects, or one page of them if the client sets a limit."""
    return _page(call, _options(call, watch=False))


def answer_list(call: Call, page: Page) -> Response:
    """Return an answer with a list."""
    parts = call.presentation().many(page.items, _metadata(call, page), call.context.now)
    return Response(200, call.headers(), parts)


def predicate(call: Call, options: ListOptions) -> Predicate | None:
    """Return a function that reports whether a stored object is selected, or None if all objects are."""
    by_labels = label_selector.predicate(options.labels)
    fields = tuple(t._replace(field=stored_field(call.resource, t.field)) for t in options.fields)
    by_fields = matcher(fields, custom=call.resource.custom)
    shards = shard_selector(call)
    tests: list[Predicate] = []
    if by_labels is not None:
        tests.append(lambda obj: by_labels(obj["metadata"].get("labels") or {}))
    if by_fields is not None:
        tests.append(_of_version(call.resource, by_fields, options))
    if shards is not None:
        tests.append(shards.matches)
    if len(tests) > 1:
        return lambda obj: all(test(obj) for test in tests)
    return tests[0] if tests else None


def _of_version(resource: ServedResource, by_fields: Predicate, options: ListOptions) -> Predicate:
    """Return a field test for stored objects. If needed, it tests their served version, with its defaults."""
    is_plain = not resource.custom or resource.conversion is not None  # webhooks have already converted
    if is_plain or all(term.field not in resource.selectable_fields for term in options.fields):
        return by_fields
    return lambda obj: by_fields(served_form(resource, obj))


def _page(call: Call, options: ListOptions) -> Page:
    token = continue_token.decode(options.continue_token) if options.continue_token else None
    rv = list_resource_version(options.resource_version)
    if token is not None:
        return _continued(call, options, token, rv)
    current = call.state.resource_version
    if rv is not None and rv > current:
        raise too_large_resource_version(rv, current)
    exact = options.match == "Exact" or (not options.match and bool(rv) and options.limit > 0)
    if rv and exact:
        _check_not_expired(call, rv)
        return _cut(call, options, rv, start="")
    # A list with resourceVersion=0 ignores the limit.
    limit = 0 if rv == 0 else options.limit
    return _cut(call, options, current, start="", limit=limit)


def _continued(call: Call, options: ListOptions, token: Continue, rv: int | None) -> Page:
    if rv:
        raise bad_request("specifying resource version is not allowed when using continue")
    if token.rv == INCONSISTENT:
        return _cut(call, options, call.state.resource_version, start=token.start)
    if token.rv > call.state.resource_version:
        raise too_large_resource_version(token.rv, call.state.resource_version)
    if token.rv < _oldest(call):
        again = Continue(INCONSISTENT, token.start).encode()
        raise expired(_EXPIRED_CONTINUE, continue_token=again)
    return _cut(call, options, token.rv, start=token.start)


def _check_not_expired(call: Call, rv: int) -> None:
    if rv < _oldest(call):
        raise expired(_EXPIRED_LIST)


def _oldest(call: Call) -> int:
    return max(call.state.compacted, call.state.collection(call.collection).history.floor)


def _cut(call: Call, options: ListOptions, rv: int, *, start: str, limit: int | None = None) -> Page:
    """Return the page that starts at the key `start`, from the state at the resource version rv."""
    limit = options.limit if limit is None else limit
    keys, objects = _at(call, rv, paged=limit > 0)
    if (name := exact(options.fields, NAME)) is not None:
        keys = _named(keys, name, call.namespace)
    matches = predicate(call, options)
    first = _position(keys, start) if start else 0
    if limit <= 0:
        return Page(_filtered([objects[key] for key in keys[first:]], matches), rv)
    items: list[Stored] = []
    for index, stored in enumerate(_in_chunks(call, [objects[key] for key in keys[first:]], limit), first):
        if matches is None or matches(stored.object):
            items.append(stored)
        # A full page has a continue token if any objects follow, even if the selectors exclude them. The
        # remaining count includes all of them.
        if len(items) == limit and index + 1 < len(keys):
            left = None if options.selective else len(keys) - first - limit
            # Objects that are created between the two pages sort before the next key.
            return Page(items, rv, Continue(rv, f"{keys[index]}\0").encode(), left)
    return Page(items, rv)


def _at(call: Call, rv: int, *, paged: bool) -> tuple[list[str], dict[str, Stored]]:
    collection = call.state.collection(call.collection)
    if rv == call.state.resource_version:
        keys, objects = collection.select(call.namespace), collection.objects
    else:
        keys, objects = collection.as_of(rv, call.namespace)
    if call.resource.conversion is not None and not paged:
        items = [objects[key] for key in keys]
        objects = dict(zip(keys, _cached(call, items), strict=True))
    return keys, objects


def _in_chunks(call: Call, items: Sequence[Stored], size: int) -> Iterator[Stored]:
    """Yield the items. Convert `size` of them first, then twice as many each time, as a real server does."""
    at = 0
    while at < len(items):
        yield from all_served(call.resource, items[at : at + size])
        at, size = at + size, 2 * size


def _cached(call: Call, items: Sequence[Stored]) -> Sequence[Stored]:
    """
    Return the objects in the served version, as a real server's watch cache for this version contains them.

    Raises: StatusError 429 if a conversion fails before the cache has been filled for the first time.
    """
    try:
        return all_served(call.resource, items)
    except ConversionFailedError as error:
        conversion = call.resource.conversion
        if conversion is None or call.resource.version in conversion.filled:
            raise
        kind = f"{call.resource.api_version}, Kind={call.resource.kind}"
        raise initializing(f"failed to list {kind}: {error}") from error


def _named(keys: list[str], name: str, namespace: str) -> list[str]:
    if namespace:
        wanted = object_key(namespace, name)
        at = bisect_left(keys, wanted)
        return keys[at : at + 1] if keys[at : at + 1] == [wanted] else []
    return [key for key in keys if key.rpartition("/")[2] == name]


def _position(keys: list[str], start: str) -> int:
    return bisect_left(keys, start)


def _filtered(items: Sequence[Stored], matches: Predicate | None) -> list[Stored]:
    return [stored for stored in items if matches is None or matches(stored.object)]


def _metadata(call: Call, page: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(page.rv)}
    if page.continue_ or (call.resource.custom and call.form.shape == ""):
        metadata["continue"] = page.continue_
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata | shard_info(call)


_MIN_TIMEOUT_SECONDS: Final = 1800
_EXPIRED_WATCH: Final = "The resourceVersion for the provided watch is too old."


def watch(call: Call) -> WatchResponse:
    """Answer 200 with a stream of events."""
    options = _options(call, watch=True)
    rv = watch_resource_version(options.resource_version)
    subscription = _subscription(call, options, rv)
    return WatchResponse(call.headers(), subscription)


def _options(call: Call, *, watch: bool) -> ListOptions:
    """Return a request's options, checked in a real server's order. Versions and tokens are not checked."""
    options = list_options(call.request.query, watch=watch)
    if call.name:  # /watch/.../NAME
        term = FieldTerm(NAME, equal=True, value=call.name)
        options = replace(options, fields=(*options.fields, term))
    field_selector.check_supported(options.fields, call.resource)
    shard_selector(call)
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
        convert=partial(all_served, call.resource) if call.resource.conversion is not None else None,
        bookmarks=options.bookmarks,
    )
    if with_state:
        if rv and rv > current:
            return replace(base, refusal=too_large_resource_version(rv, current).status)
        marked = options.send_initial_events is True and options.bookmarks
        try:
            return replace(base, initial=_present(call, base), after_initial=marked)
        except ConversionFailedError:  # a real server's cache would be too old
            return replace(base, refusal=too_large_resource_version(current, current - 1).status)
    if rv and (refusal := _too_old(call, rv)):
        return replace(base, refusal=refusal)
    # A watch from a future resource version sends nothing until that version has been passed.
    return replace(base, silent_until=rv) if rv and rv > current else base


def _present(call: Call, subscription: Subscription) -> Sequence[Stored]:
    collection = call.state.collection(call.collection)
    keys, matches = collection.select(call.namespace), subscription.matches
    found = _cached(call, [collection.objects[key] for key in keys])
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
    """Return a bookmark's object without metadata. It has only the members that the kind never omits."""
    head = {"kind": call.resource.kind, "apiVersion": call.resource.api_version}
    if call.resource.custom or call.resource.schema is None or call.collection == EVENTS:
        return head
    empty: Object = typed.decode(call.resource.schema, head, typed.Report())
    return empty
