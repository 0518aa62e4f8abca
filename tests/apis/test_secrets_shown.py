"""What is shown of a Secret: its names, and no value that it holds."""

from __future__ import annotations

import json

import pytest

from handloop.apis.evolve import evolve
from handloop.apis.meta import EMPTY_MAP, LAST_APPLIED, FrozenMap, Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.pages import Undecodable
from handloop.client.errors import DecodeError, error_from_status
from handloop.client.errors.status import Status, StatusCause, StatusDetails
from handloop.client.resource_client import codec_of
from handloop.informers.keys import StoreKeyError
from handloop.kinds.core_v1 import ConfigMap, Secret

HIDDEN = "aHVudGVyMg=="
COPY = {LAST_APPLIED: f'{{"data":{{"password":"{HIDDEN}"}}}}'}


class View(Kind, group="", version="v1", kind="Secret"):
    """A user's own view."""

    data: FrozenMap = EMPTY_MAP


OBJECTS = [
    Secret.named("a", data={"password": HIDDEN}),
    Secret.named("a", string_data={"password": HIDDEN}),
    evolve(Secret.named("a"), "metadata.annotations", COPY),
    View.named("a", data={"password": HIDDEN}),
    Unstructured.of("v1", "Secret").from_json(f'{{"data":{{"password":"{HIDDEN}"}}}}'.encode()),
    Undecodable("default", "a", "1", f'{{"data":{{"password":"{HIDDEN}"}}}}'.encode(), "an error"),
]


@pytest.mark.parametrize("secret", OBJECTS, ids=lambda each: type(each).__name__)
def test_no_value_of_a_secret_is_shown(secret: object) -> None:
    """By repr, str and format, by an error about it, and by a traceback with locals."""
    texts = [repr(secret), str(secret), f"{secret}", str(StoreKeyError(secret, ValueError("no key")))]
    if isinstance(secret, Kind):
        texts += [repr(secret.__rich_repr__()), repr(secret.metadata), repr(secret.metadata.__rich_repr__())]
    assert [text for text in texts if HIDDEN in text] == []


def test_its_keys_are() -> None:
    """They say what is there; and an author who asks for the data gets it."""
    secret = Secret.named("a", data={"password": HIDDEN})
    assert repr(secret) == "Secret(api_version='v1', metadata=ObjectMeta(name='a'), data={'password': '***'})"
    assert secret.data["password"] == HIDDEN
    assert HIDDEN in repr(ConfigMap.named("a", data={"password": HIDDEN}))


def test_an_error_about_a_map_names_the_entry_and_no_value() -> None:
    """And says what to do about it."""
    with pytest.raises(TypeError) as caught:
        evolve(Secret.named("a"), "data", {"password": HIDDEN, "port": 8080})
    assert str(caught.value).endswith(
        "data: expected a map of strings, but ['port'] is of type int: write it as a string"
    )
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize("kind", [Secret, View, Unstructured.of("v1", "Secret")])
@pytest.mark.parametrize(
    "told",
    [
        {"kind": "Secret", "apiVersion": "v1", "data": {"password": HIDDEN}, "metadata": 5},
        {"stringData": {"password": HIDDEN}, "metadata": 5, "kind": "Secret", "apiVersion": "v1"},
        {"apiVersion": "v1", "metadata": {"annotations": COPY, "name": 5}, "kind": "Secret"},
        {"metadata": {"name": 5}, "data": {"password": HIDDEN}},
    ],
)
def test_an_error_about_what_cannot_be_read_ends_before_the_values(
    kind: type[Kind], told: dict[str, object]
) -> None:
    """Also for an item of a list, which has no kind."""
    with pytest.raises(DecodeError, match=r"\*\*\*") as caught:
        codec_of(kind).decode(json.dumps(told).encode())
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        f'patch: Invalid value: "{{\\"data\\":{{\\"k\\":\\"{HIDDEN}\\"}}}}": json: cannot unmarshal',
        f'patch: Invalid value: "map[stringData:map[k:[{HIDDEN}]]]": unrecognized type: string',
        f".stringData.k: expected string, got &value.valueUnstructured{{Value:[]interface {{}}{{{HIDDEN}}}}}",
        f".data: expected map, got &{{{HIDDEN}}}",
        f'v1.Secret.Data: ReadMapCB: error found in #10 byte of ...|{{"data":"{HIDDEN}"}}|...',
    ],
)
def test_an_error_of_the_server_quotes_no_value(said: str) -> None:
    """As kube-apiserver answers to a patch that does not fit: in the text, and in the causes."""
    status = Status(422, "Invalid", said, details=StatusDetails(causes=(StatusCause(message=said),)))
    error = error_from_status(status, verb="patch", resource="secrets")
    assert HIDDEN not in f"{error} {error!r} {error.status}"
    assert "***" in str(error)
    assert HIDDEN in str(error_from_status(status, verb="patch", resource="configmaps"))


def test_an_error_of_the_server_still_names_what_does_not_fit() -> None:
    """A name is no value."""
    said = 'Secret "A_b" is invalid: metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain'
    assert said in str(error_from_status(Status(422, "Invalid", said), resource="secrets"))
