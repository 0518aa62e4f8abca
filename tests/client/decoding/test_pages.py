from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import RAW_LIMIT, PageDecoder, undecodable
from handloop.client.errors import DecodeError
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo


def foo(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": "5"}, "spec": spec}


def page_of(items: Any, **fields: Any) -> bytes:
    page = {
        "kind": "FooList",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "metadata": {"resourceVersion": "9"},
        "items": items,
    }
    return json.dumps(page | fields).encode()


@pytest.fixture
def decoder() -> PageDecoder[Foo]:
    return codec_of(Foo).pages


def test_a_page_of_typed_objects(decoder: PageDecoder[Foo]) -> None:
    """Items, version, continue token and count come out typed; items may lack kind and apiVersion."""
    metadata = {"resourceVersion": "9", "continue": "tok", "remainingItemCount": 3}
    page = decoder.decode(page_of([foo("a", replicas=1), foo("b", replicas=2)], metadata=metadata))
    assert [(item.metadata.name, item.spec.replicas) for item in page.items] == [("a", 1), ("b", 2)]
    assert (page.resource_version, page.continue_token, page.remaining_item_count) == ("9", "tok", 3)
    assert page.undecodable == ()


def test_the_last_page_has_no_token(decoder: PageDecoder[Foo]) -> None:
    """An empty or absent continue token is None."""
    assert (
        decoder.decode(page_of([], metadata={"resourceVersion": "9", "continue": ""})).continue_token is None
    )
    assert decoder.decode(page_of([])).continue_token is None


def test_an_object_that_does_not_fit_does_not_spoil_the_page(decoder: PageDecoder[Foo]) -> None:
    """One object under an older schema is quarantined by key; every other one is delivered, in order."""
    page = decoder.decode(page_of([foo("a"), foo("bad", replicas="three"), foo("c")]))
    assert [item.metadata.name for item in page.items] == ["a", "c"]
    (bad,) = page.undecodable
    assert (bad.key_namespace, bad.key_name, bad.resource_version) == ("ns", "bad", "5")
    assert "Expected `int" in bad.error
    assert "$.spec.replicas" in bad.error
    assert json.loads(bad.raw)["spec"] == {"replicas": "three"}
    assert page.resource_version == "9"


def test_a_list_item_of_another_kind_is_quarantined(decoder: PageDecoder[Foo]) -> None:
    """An item of another kind is no Foo."""
    page = decoder.decode(page_of([foo("a"), {**foo("b"), "kind": "Bar"}]))
    assert [item.metadata.name for item in page.items] == ["a"]
    assert [entry.key_name for entry in page.undecodable] == ["b"]


def test_null_items_are_an_empty_list(decoder: PageDecoder[Foo]) -> None:
    """`items: null` is what Go writes for no items."""
    assert decoder.decode(page_of(None)).items == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"kind":"Status","apiVersion":"v1","status":"Failure"}',
        page_of([], kind="Table", apiVersion="meta.k8s.io/v1"),
        page_of(None, kind="Foo"),
        page_of([], apiVersion="samplecontroller.k8s.io/v1"),
        page_of([], metadata=None),
        page_of({}),
        page_of([foo("a")])[:-3],
        page_of([1]),
        page_of([{"metadata": {}}]),
        page_of([{"spec": {}}]),
        page_of([{"metadata": {"name": "a"}, "spec": {"replicas": "x"}}]),
        page_of([foo("a\udcff")]).replace(b"\\udcff", b"\xff"),
        page_of([foo("a")]).replace(b'"a"', b"NaN"),
    ],
    ids=lambda body: repr(body[-60:]),
)
def test_what_is_no_list_of_the_kind_is_one_error(decoder: PageDecoder[Foo], body: bytes) -> None:
    """Whatever else arrives raises DecodeError and nothing else."""
    with pytest.raises(DecodeError):
        decoder.decode(body)


def test_deep_nesting_in_an_unread_field_is_no_obstacle(decoder: PageDecoder[Foo]) -> None:
    """An object with 20,000 levels of unknown field is read like any other, without a RecursionError."""
    body = page_of([foo("a"), {**foo("b"), "extra": "DEEP"}])
    page = decoder.decode(body.replace(b'"DEEP"', b"[" * 20_000 + b"]" * 20_000))
    assert [item.metadata.name for item in page.items] == ["a", "b"]


def test_huge_numbers_are_contained(decoder: PageDecoder[Foo]) -> None:
    """A number of 5,000 digits is skipped in an unknown field and quarantines a known one."""
    digits = b"9" * 5000
    unknown = page_of([{**foo("a"), "extra": 12345}]).replace(b"12345", digits)
    assert len(decoder.decode(unknown).items) == 1
    known = page_of([foo("a", replicas=12345)]).replace(b"12345", digits)
    assert [entry.key_name for entry in decoder.decode(known).undecodable] == ["a"]


def test_objects_do_not_keep_their_page_alive() -> None:
    """Nothing decoded refers to the page's bytes, so a page of megabytes is freed with them."""
    pages = codec_of(Deployment).pages
    item = {"metadata": {"name": "a", "labels": {"k": "v"}, "resourceVersion": "1"}, "padding": "x" * 10_000}
    bad = {"metadata": {"name": "b", "resourceVersion": "1"}, "spec": {"replicas": "x"}}
    page = {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "1"}}
    for items in ([item], [item, bad]):
        body = json.dumps(page | {"items": items}).encode()
        before = sys.getrefcount(body)
        decoded = pages.decode(body)
        assert len(decoded.items) + len(decoded.undecodable) == len(items)
        assert sys.getrefcount(body) == before
        assert max((len(entry.raw) for entry in decoded.undecodable), default=0) < 200


def test_undecodable_keeps_a_short_copy() -> None:
    """A quarantined object holds at most 64 kB of its JSON."""
    raw = b'{"metadata":{"namespace":"ns","name":"n","resourceVersion":"5"},"data":"' + b"x" * 100_000 + b'"}'
    entry = undecodable(raw, ValueError("Expected `int`"))
    assert (entry.key_namespace, entry.key_name, entry.resource_version) == ("ns", "n", "5")
    assert entry.raw == raw[:RAW_LIMIT]
    assert entry.error == "Expected `int`"


@pytest.mark.parametrize(
    "raw", [b"{}", b'{"metadata":{"name":"n"}}', b'{"metadata":{"resourceVersion":"1"}}'], ids=repr
)
def test_undecodable_without_a_key_is_an_error(raw: bytes) -> None:
    """An object without a name cannot be quarantined."""
    with pytest.raises(DecodeError, match=r"without metadata\.name or resourceVersion"):
        undecodable(raw, ValueError("x"))
