"""What a list answers: one page of objects, and those that did not fit their type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

RAW_LIMIT = 65_536


class Undecodable(NamedTuple):
    """
    An object that does not fit its type: stored under an older schema, or edited by hand.

    raw is a copy of at most 64 kB of its JSON: it keeps no page alive.
    """

    key_namespace: str
    key_name: str
    resource_version: str
    raw: bytes
    error: str


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """
    One page of a list.

    resource_version is the list's own, the point a watch continues from; continue_token is None on the last
    page; remaining_item_count is None when the server does not say (last page, or with selectors).
    """

    items: list[T]
    resource_version: str
    continue_token: str | None = None
    remaining_item_count: int | None = None
    undecodable: tuple[Undecodable, ...] = field(default=())
