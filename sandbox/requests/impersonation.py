"""
Acting as somebody else: the Impersonate headers.

Follows: apiserver pkg/endpoints/filters/impersonation (with constrained impersonation, whose words a refusal
has). Only system:masters may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from handloop.sandbox.requests.authorization import Attributes, forbidden_access, is_master
from handloop.sandbox.requests.request import User
from handloop.sandbox.wire.status import StatusError


def acting_user(user: User, headers: Mapping[str, str], wanted: Attributes | None) -> User:
    """
    The user a request is made as.

    Args: wanted is what the request wants, None for a path that is no resource.
    Raises: StatusError 403 when user may not act as somebody else.
    """
    name = headers.get("impersonate-user")
    if not name:
        return user
    if not is_master(user):
        raise _refused(user, name, wanted)
    groups = (group.strip() for group in headers.get("impersonate-group", "").split(","))
    chosen = tuple(group for group in groups if group)
    return User(name, (*chosen, "system:authenticated"), headers.get("impersonate-uid", ""))


def _refused(user: User, name: str, wanted: Attributes | None) -> StatusError:
    if wanted is None:
        return forbidden_access(user, Attributes("impersonate", "", "users", name=name))
    return forbidden_access(user, replace(wanted, verb=f"impersonate-on:user-info:{wanted.verb}"))
