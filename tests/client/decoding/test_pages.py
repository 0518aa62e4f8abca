from __future__ import annotations

import dataclasses

import pytest

from handloop.client.decoding.pages import ListPage, Undecodable


def test_a_page_has_no_more_pages_by_default() -> None:
    """A page made of items and a version is the last one."""
    page = ListPage(items=[1, 2], resource_version="7")
    assert (page.continue_token, page.remaining_item_count, page.undecodable) == (None, None, ())


def test_a_page_does_not_change() -> None:
    """A page can be handed on without a copy."""
    page = ListPage(items=[1], resource_version="7")
    with pytest.raises(dataclasses.FrozenInstanceError):
        page.resource_version = "8"  # type: ignore[misc]


def test_an_undecodable_object_is_identified() -> None:
    """The quarantine needs key, version, and what was wrong."""
    entry = Undecodable("ns", "name", "5", b"{}", "Expected `int`")
    assert (entry.key_namespace, entry.key_name, entry.resource_version) == ("ns", "name", "5")
    assert (entry.raw, entry.error) == (b"{}", "Expected `int`")
