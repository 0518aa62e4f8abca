"""What the API server asks, what nobody should ask, and the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import pytest
from msgspec.structs import replace

from handloop.apis.meta import Kind
from handloop.controller.runtime.conversion.review import ReviewError, converters_of, reviewed
from support.builders.converted_sites import OldSite, OldSpec, Site, Spec
from support.checks.captured_logs import captured_logs
from support.doubles.unspeakable import UNSPEAKABLE

HALF: Any = "\ud800"
"""Half of a pair, which no JSON has."""
V1, BETA = "example.org/v1", "example.org/v1beta1"


SITES: Final = converters_of([Site])


def site(name: str = "a", **fields: Any) -> dict[str, Any]:
    """One of version v1; None takes a field away."""
    made = {"apiVersion": V1, "kind": "Site", "metadata": {"name": name}, "spec": {"replicas": 2}} | fields
    return {key: value for key, value in made.items() if value is not None}


def answer(objects: Sequence[Any], wanted: str = BETA, kind: type[Kind] = Site) -> dict[str, Any]:
    """What the API server reads."""
    body = {"request": {"uid": "u-1", "desiredAPIVersion": wanted, "objects": objects}}
    converters = SITES if kind is Site else converters_of([kind])
    review = json.loads(reviewed(json.dumps(body).encode(), converters))
    assert (review["apiVersion"], review["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    assert review["response"].pop("uid") == "u-1"
    return dict(review["response"])


def refusal(objects: Sequence[Any], wanted: str = BETA, kind: type[Kind] = Site) -> str:
    """What is said of objects of which none is converted."""
    found = answer(objects, wanted, kind)
    assert (found["result"]["status"], found["convertedObjects"]) == ("Failure", [])
    return str(found["result"]["message"])


def test_five_hundred_are_converted_in_their_order() -> None:
    """With metadata as it was given, what we do not know of it included."""
    metadata = {"managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}], "unheard-of": 1}
    found = answer([site(metadata={"name": f"s{at}", **metadata}) for at in range(500)])
    assert found["result"] == {"status": "Success"}
    assert found["convertedObjects"] == [
        site(apiVersion=BETA, metadata={"name": f"s{at}", **metadata}, spec={"size": 2}) for at in range(500)
    ]


def test_an_object_of_the_wanted_version_stays_and_no_objects_are_none() -> None:
    """A list may hold several versions."""
    old = site(apiVersion=BETA, spec={"size": 2})
    assert answer([site(), old])["convertedObjects"] == [old, old]
    assert answer([]) == {"result": {"status": "Success"}, "convertedObjects": []}


def test_of_many_failures_some_are_named_by_object_and_path() -> None:
    """The server has one text for all of them."""
    bad = {"replicas": "x"}
    objects = [site(f"s{at}", spec=bad if at in (3, 7, 400) else {}) for at in range(500)]
    reason = "is no v1: Expected `int`, got `str` - at `$.spec.replicas`"
    assert refusal(objects) == "; ".join(f"Site s{at}: {reason}" for at in (3, 7, 400))
    every = refusal([site(f"s{at}", spec=bad) for at in range(500)])
    assert every.count("Site s") == 5
    assert every.endswith("; and 495 more")


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (site(apiVersion=None), "Site a: Site has no version None: its versions are"),
        (site(apiVersion="other.org/v1"), "Site a: Site has no version other.org/v1: its versions are"),
        (site(apiVersion=3), "Site a: Site has no version 3: its versions are"),
        (site(kind="Other"), "this webhook does not convert Other of example.org"),
        (site(kind=None), "this webhook does not convert None of example.org"),
        (site(kind={"a": 1}), "this webhook does not convert {'a': 1} of example.org"),
        (site(metadata=[]), "is no v1: Expected `object`, got `array` - at `$.metadata`"),
        (site(metadata="m"), "is no v1: Expected `object`, got `str` - at `$.metadata`"),
        (site(metadata={"name": 5}), "is no v1: Expected `str`, got `int` - at `$.metadata.name`"),
        (site(spec=[1]), "Site a: is no v1: Expected `object`, got `array` - at `$.spec`"),
    ],
)
def test_an_object_that_is_none_of_ours_is_named(obj: Any, said: str) -> None:
    """Each with the place of what does not fit."""
    assert said in refusal([obj])


def test_another_version_or_group_is_refused() -> None:
    """A newer release may have put it into the definition."""
    assert refusal([site()], "example.org/v9") == (
        f"Site a: Site has no version example.org/v9: its versions are {V1}, {BETA}"
    )
    assert refusal([site()], "other.org/v1") == "this webhook does not convert Site of other.org"
    assert refusal([site()], "") == "this webhook does not convert Site of "


def test_an_object_without_metadata_gets_none_of_its_own() -> None:
    """The server wants the place for labels and annotations."""
    assert answer([site(metadata=None)])["convertedObjects"][0]["metadata"] == {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hi",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"request": {"objects": ' + b"[" * 100_000,
        b'{"request": {"desiredAPIVersion": "v1", "objects": []}}',
        b'{"request": {"uid": "u", "desiredAPIVersion": "v1", "objects": null}}',
        b'{"request": {"uid": "u", "desiredAPIVersion": "v1", "objects": [1]}}',
        b'{"request": {"uid": "\\ud800", "desiredAPIVersion": "v1", "objects": []}}',
    ],
)
def test_a_body_that_is_no_review_is_refused_as_a_whole(body: bytes) -> None:
    """There is no UID to answer to."""
    with pytest.raises(ReviewError, match=r"no ConversionReview of apiextensions.k8s.io/v1"):
        reviewed(body, SITES)


def of_function(function: Callable[[Any], Any]) -> type[Kind]:
    """A kind whose way back does that."""

    class Odd(Kind, group="example.org", version="v1", kind="Site", previous=OldSite):
        spec: Spec

        @classmethod
        def from_previous(cls, old: OldSite) -> NoReturn:
            raise NotImplementedError

        def to_previous(self) -> Any:
            return function(self)

    return Odd


def raising(error: BaseException) -> Callable[[Any], NoReturn]:
    """A function that does."""

    def function(_site: object) -> NoReturn:
        raise error

    return function


def endless(given: object) -> Any:
    """Never returns by itself."""
    return endless(given)


def test_a_function_that_fails_is_named_with_the_object() -> None:
    """However it fails; its words are cut, and say nothing to a terminal."""
    for error, said in (
        (ValueError("bad"), "ValueError: bad"),
        (ValueError("a\x1b[2J\n\0\ud800b"), "ValueError: a\ufffd[2J\ufffd\ufffd\ufffdb"),
        (MemoryError(), "MemoryError: "),
        (SystemExit(3), "SystemExit: 3"),
        (UNSPEAKABLE[0], "Unspeakable"),
    ):
        assert refusal([site()], kind=of_function(raising(error))) == f"Site a: Odd.to_previous raised {said}"
    long = refusal([site(f"s{at}") for at in range(9)], kind=of_function(raising(ValueError("x" * 10**6))))
    assert len(long) < 3000
    assert "RecursionError" in refusal([site()], kind=of_function(endless))


def test_what_passes_every_handler_ends_nothing_but_its_object() -> None:
    """The log has the traceback."""
    with captured_logs() as logs:
        assert refusal([site(), site()], kind=of_function(raising(UNSPEAKABLE[1]))) == (
            "Site: UnspeakableExit; Site: UnspeakableExit"
        )
    assert [line["event"] for line in logs] == ["A conversion failed"] * 2 + ["Could not convert"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda _: None, "Odd.to_previous returned a NoneType, not a OldSite"),
        (lambda _: OldSite(spec=OldSpec()), "changes metadata.name: hand its metadata on"),
        (lambda old: replace(OldSite(spec=OldSpec(size=HALF)), metadata=old.metadata), "UnicodeEncodeError"),
    ],
)
def test_a_result_that_is_no_object_of_its_class_is_named(made: Callable[[Any], Any], said: str) -> None:
    """Before the server sees it."""
    found = refusal([site()], kind=of_function(made))
    assert found.startswith("Site a: ")
    assert said in found
