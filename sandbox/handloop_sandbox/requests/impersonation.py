"""
Impersonation: the user that the Impersonate headers name, and the check that the sender may act as that user.

Each part of the other user requires the verb `impersonate` on users or serviceaccounts, groups, uids, or
userextras/NAME. Differs: the permissions of constrained impersonation (`impersonate-on:...`) have no effect,
but a refusal of the user mentions them, as a real server's first refusal does.
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
    Return the user on whose behalf a request is carried out. A service account gets its usual groups.

    Args: wanted is the requested action.
    Raises: StatusError 400 if the headers name no user, 403 if the sender may not act as the one they name.
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
    """Return the user that the headers name, or a user named "" if there is none."""
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
    """Return the refusal to act as a user. It names the verb that constrained impersonation would require."""
    verb = f"impersonate-on:{'serviceaccount' if right.namespace else 'user-info'}:{wanted.verb}"
    if isinstance(wanted, PathAttributes):
        return forbidden_path(user.name, verb, wanted.path)
    return forbidden_access(user, wanted._replace(verb=verb))


def _with_usual_group(asked: User) -> tuple[str, ...]:
    """Return the groups plus system:authenticated or system:unauthenticated, unless they include either."""
    if asked.name == ANONYMOUS.name:
        return asked.groups if UNAUTHENTICATED in asked.groups else (*asked.groups, UNAUTHENTICATED)
    known = {AUTHENTICATED, UNAUTHENTICATED} & set(asked.groups)
    return asked.groups if known else (*asked.groups, AUTHENTICATED)


def _shown(asked: User) -> str:
    """Return a user as Go's `%#v` shows one."""
    extra = ", ".join(f"{quoted(name)}:{_strings(values)}" for name, values in asked.extra.items())
    shown = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
    about = f'Name:"", UID:{quoted(asked.uid)}, Groups:{_strings(asked.groups)}, Extra:{shown}'
    return f"&user.DefaultInfo{{{about}}}"


def _strings(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"
