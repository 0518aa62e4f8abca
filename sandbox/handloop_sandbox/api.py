"""
The API: a function that takes a state and a request, and returns an answer and the changes to commit.

The module itself has no state, and the context supplies time and randomness, so the same arguments always
give the same result. The engine commits the changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handloop_sandbox.requests import authorization, documents, routes
from handloop_sandbox.requests.authorization import Attributes, PathAttributes
from handloop_sandbox.requests.call import Call, warning_headers
from handloop_sandbox.requests.documents import Site
from handloop_sandbox.requests.impersonation import acting_user
from handloop_sandbox.requests.request import Context, Outcome, Request, Response, WatchResponse
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.verbs import component_statuses, pods, reviews, scale, token_requests
from handloop_sandbox.verbs.create import create
from handloop_sandbox.verbs.deletion import delete, delete_collection
from handloop_sandbox.verbs.patching import patch
from handloop_sandbox.verbs.reading import get, list_objects, watch
from handloop_sandbox.verbs.update import update
from handloop_sandbox.wire import negotiate, status
from handloop_sandbox.wire.negotiate import Form
from handloop_sandbox.wire.options import boolean
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import (
    PageNotFoundError,
    StatusError,
    bad_request,
    method_not_allowed,
    not_found,
    request_entity_too_large,
)

Verb = Callable[[Call], Response | WatchResponse]

MAX_BODY_BYTES: Final = 3 * 1024 * 1024
PAGE_NOT_FOUND: Final = Response(
    404,
    (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Cache-Control", "no-cache, private"),
        ("X-Content-Type-Options", "nosniff"),
    ),
    (b"404 page not found\n",),
)

_TOO_DEEP: Final = "the request or its answer is nested too deeply for the sandbox"

_VERBS: Final[dict[str, Verb]] = {
    "get": get,
    "list": list_objects,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
_COMPONENT_STATUSES: Final[dict[str, Verb]] = {
    "get": component_statuses.get_status,
    "list": component_statuses.list_statuses,
    "watch": component_statuses.watch_statuses,
}
_SCALE: Final[dict[str, Verb]] = {
    "get": scale.get_scale,
    "update": scale.update_scale,
    "patch": scale.patch_scale,
}
_POD_SUBRESOURCES: Final[dict[str, Verb]] = {
    "log": pods.logs,
    "binding": pods.bind,
    "eviction": pods.evict,
    "exec": pods.refuse_stream,
    "attach": pods.refuse_stream,
    "portforward": pods.refuse_stream,
    "proxy": pods.refuse_stream,
}


def handle(site: Site, request: Request, context: Context) -> Outcome:
    """Answer a request. If it is refused, return an error answer instead of raising an exception."""
    try:
        return _handle(site, request, context)
    except StatusError as error:
        return Outcome(refusal(request, error))
    except PageNotFoundError:
        return Outcome(PAGE_NOT_FOUND)
    except RecursionError:
        return Outcome(refusal(request, bad_request(_TOO_DEEP)))


def refusal(request: Request, error: StatusError, warnings: tuple[str, ...] = ()) -> Response:
    """Return the answer for an error."""
    media_type, content = _refusal_content(request, error)
    headers = (
        ("Content-Type", media_type),
        ("Cache-Control", "no-cache, private"),
        *error.headers,
        *warning_headers(list(warnings)),
    )
    return Response(error.code, headers, (content,))


def _refusal_content(request: Request, error: StatusError) -> tuple[str, bytes]:
    accept = request.headers.get("accept", "")
    if negotiate.reads_only_protobuf(accept):
        return negotiate.PROTOBUF, status.as_protobuf(error.status)
    form = negotiate.error_form(accept, request.query.get("pretty"))
    return form.content_type, form.encode_value(error.status)


def _handle(site: Site, request: Request, context: Context) -> Outcome:
    if len(request.body) > MAX_BODY_BYTES:
        raise request_entity_too_large(MAX_BODY_BYTES)
    parts = routes.split(request.path)
    path = routes.resource_path(parts)
    if path is None:
        asked = PathAttributes(_path_verb(request.method), f"/{'/'.join(parts)}")
        context = _acting(site, request, context, asked)
        authorization.check_path(site.state, context.user, *asked)
        return Outcome(documents.document(site, request, parts))
    wanted = authorization.attributes(path, _verb(request, path), request.query.get("fieldSelector") or "")
    context = _acting(site, request, context, wanted)
    authorization.check_resource(site.state, context.user, wanted)
    return _on_resource(site, request, context, path)


def _acting(site: Site, request: Request, context: Context, wanted: Attributes | PathAttributes) -> Context:
    user = acting_user(site.state, context.user, request.headers, wanted)
    return context if user is context.user else context._replace(user=user)


def _on_resource(site: Site, request: Request, context: Context, path: ResourcePath) -> Outcome:
    verb = _verb(request, path)
    resource = routes.find(site.catalog, path, request.method)
    call = Call(
        request=request,
        context=context,
        state=site.state,
        catalog=site.catalog,
        resource=resource,
        path=path,
        verb=verb,
        form=_form(request, resource, verb),
    )
    if resource.deprecation_warning:
        call.warn(resource.deprecation_warning)
    try:
        response = _work(call)(call)
    except StatusError as error:
        return Outcome(refusal(request, error, tuple(call.warnings)), tuple(call.changes))
    if isinstance(response, Response) and negotiate.accepts_gzip(request.headers.get("accept-encoding", "")):
        response = response.in_gzip()
    return Outcome(response, tuple(call.changes))


def _form(request: Request, resource: ServedResource, verb: str) -> Form:
    accept = request.headers.get("accept", "")
    pretty = request.query.get("pretty")
    return negotiate.negotiate(accept, pretty=pretty, watch=verb == "watch", resource=resource)


def _verb(request: Request, path: ResourcePath) -> str:
    verb = path.verb(request.method)
    if verb == "list" and boolean(request.query.get("watch")):
        return "watch"
    return verb


def _path_verb(method: str) -> str:
    return {"POST": "post", "HEAD": "get"}.get(method, method.lower())


def _work(call: Call) -> Verb:
    """Return the function that carries out a request of this kind, subresource and verb."""
    resource, subresource = call.resource, call.path.subresource
    own = _of_what_is_not_stored(call)
    if own is not None:
        return own
    if resource.custom:
        return _custom(call)
    if subresource == "scale":
        return _SCALE[call.verb]
    if subresource == "token":
        return token_requests.request_token
    if subresource == "proxy" or (resource.plural == "pods" and subresource in _POD_SUBRESOURCES):
        return _POD_SUBRESOURCES[subresource]
    return _VERBS[call.verb]


def _of_what_is_not_stored(call: Call) -> Verb | None:
    resource = call.resource
    if resource.verbs == ("create",):
        return pods.bind_named if resource.plural == "bindings" else reviews.review
    if resource.plural == "componentstatuses" and not resource.custom:
        return _COMPONENT_STATUSES.get(call.verb)
    return None


def _custom(call: Call) -> Verb:
    subresource = call.path.subresource
    if subresource and call.resource.subresource(subresource) is None:
        raise not_found(call.resource, call.name)
    if call.verb in ("update", "patch") and not call.name:
        raise bad_request("name must be provided")
    if not subresource and call.verb in _VERBS:
        return _VERBS[call.verb]
    if not subresource or call.verb not in ("get", "update", "patch"):
        raise method_not_allowed(call.resource, call.verb)
    return _SCALE[call.verb] if subresource == "scale" else _VERBS[call.verb]
