"""
Impersonation: reads the Impersonate headers, and checks that the sender may act as the user that they name.

For each part of that user, the sender needs the verb `impersonate` on a resource: users or serviceaccounts,
groups, uids, or userextras/NAME. Differs: the permissions of constrained impersonation (`impersonate-on:...`)
have no effect. However, the error for a forbidden user or service account mentions them, as on a real server.
Follows: kubernetes apiserver pkg/endpoints/filters/impersonation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from handloop_sandbox.requests.authorization import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Attributes,
    PathAttributes,
    allowed,
    forbidden_access,
    service_account,
)
from handloop_sandbox.requests.request import User
from handloop_sandbox.storage.state import State
from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.status import StatusError, bad_request, forbidden_path

_ACCOUNT: Final = re.compile("system:serviceaccount:([^:]+):([^:]+)")
_AUTHENTICATION: Final = "authentication.k8s.io"
_EXTRA: Final = "impersonate-extra-"


def acting_user(
    state: State, user: User, headers: Mapping[str, str], wanted: Attributes | PathAttributes
) -> User:
    """
    Return the user on whose behalf a request is carried out: the impersonated user, or else the sender.

    If the headers name a service account without groups, the account has its usual groups.
    Args: wanted is the action that the sender requests.
    Raises: StatusError 400 if the headers describe a user without a name, or 403 if the sender may not act as
    that user.
    """
    asked = _asked(headers)
    if not asked.name:
        if asked.groups or asked.uid or asked.extra:
            raise bad_request(f"requested {_shown(asked)} without impersonating a user name")
        return user
    for index, right in enumerate(_rights(asked)):
        if not allowed(state, user, right):
            raise forbidden_access(user, right) if index else _refusal(user, right, wanted)
    account = _ACCOUNT.fullmatch(asked.name)
    if account and not asked.groups:
        return service_account(account[1], account[2], asked.uid)._replace(extra=asked.extra)
    return asked._replace(groups=_with_usual_group(asked))


def _asked(headers: Mapping[str, str]) -> User:
    """Return the user that the headers describe. Its name is "" if they do not name a user."""
    groups = tuple(filter(None, headers.get("impersonate-group", "").split("\n")))
    extra = {
        unquote(name.removeprefix(_EXTRA)): tuple(value.split("\n"))
        for name, value in sorted(headers.items())
        if name.startswith(_EXTRA)
    }
    return User(headers.get("impersonate-user", ""), groups, headers.get("impersonate-uid", ""), extra)


def _rights(asked: User) -> Iterator[Attributes]:
    if account := _ACCOUNT.fullmatch(asked.name):
        yield Attributes("impersonate", "", "serviceaccounts", account[1], account[2])
    else:
        yield Attributes("impersonate", "", "users", name=asked.name)
    for group in asked.groups:
        yield Attributes("impersonate", "", "groups", name=group)
    for name, values in asked.extra.items():
        for value in values:
            yield Attributes("impersonate", _AUTHENTICATION, "userextras", name=value, subresource=name)
    if asked.uid:
        yield Attributes("impersonate", _AUTHENTICATION, "uids", name=asked.uid)


def _refusal(user: User, right: Attributes, wanted: Attributes | PathAttributes) -> StatusError:
    """
    Return the error (403) for a sender who may not impersonate a user or service account.

    The error mentions the verb that constrained impersonation requires, as a real server's error does.
    """
    verb = f"impersonate-on:{'serviceaccount' if right.namespace else 'user-info'}:{wanted.verb}"
    if isinstance(wanted, PathAttributes):
        return forbidden_path(user.name, verb, wanted.path)
    return forbidden_access(user, wanted._replace(verb=verb))


def _with_usual_group(asked: User) -> tuple[str, ...]:
    """Return a user's groups, and add system:authenticated or system:unauthenticated if necessary."""
    if asked.name == ANONYMOUS.name:
        return asked.groups if UNAUTHENTICATED in asked.groups else (*asked.groups, UNAUTHENTICATED)
    known = {AUTHENTICATED, UNAUTHENTICATED} & set(asked.groups)
    return asked.groups if known else (*asked.groups, AUTHENTICATED)


def _shown(asked: User) -> str:
    """Return a user in the format of Go's `%#v`."""
    extra = ", ".join(f"{quoted(name)}:{_strings(values)}" for name, values in asked.extra.items())
    shown = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
    about = f'Name:"", UID:{quoted(asked.uid)}, Groups:{_strings(asked.groups)}, Extra:{shown}'
    return f"&user.DefaultInfo{{{about}}}"


def _strings(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"
