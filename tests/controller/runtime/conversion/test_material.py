"""The Secret of the webhook, as it is read and written."""

from __future__ import annotations

from base64 import b64encode

import pytest

from handloop.apis.meta import FrozenMap
from handloop.client.errors import AlreadyExists, Conflict
from handloop.controller.runtime.conversion.material import (
    Secret,
    material_of,
    read_pair,
    read_secret,
    write_material,
)
from handloop.controller.runtime.conversion.trust import NO_PAIR, Material
from handloop.controller.runtime.serving.key_pairs import KeyPair
from handloop.informers.keys import ObjectName
from handloop.testing.managed_sandbox import ManagedSandbox

NAME = ObjectName("default", "shop-webhook")
MATERIAL = Material(b"authorities", b"key", KeyPair(b"certificate", b"its key"))


def test_what_is_written_is_read() -> None:
    """In place of what was there; a key of somebody else stays."""
    client = ManagedSandbox().client
    assert read_secret(client, NAME) is None
    assert read_pair(client, NAME) == NO_PAIR
    write_material(client, NAME, None, Material(b"first"))
    secret = read_secret(client, NAME)
    assert material_of(secret) == Material(b"first")
    client.resource(Secret).patch(NAME.name, {"data": {"mine": "eHg="}}, namespace=NAME.namespace)
    write_material(client, NAME, read_secret(client, NAME), MATERIAL)
    secret = read_secret(client, NAME)
    assert secret is not None
    assert material_of(secret) == MATERIAL
    assert secret.data["mine"] == "eHg="
    assert read_pair(client, NAME) == MATERIAL.pair


def test_of_two_writers_one_is_refused() -> None:
    """Each would overwrite an authority that the other has just made known."""
    client = ManagedSandbox().client
    write_material(client, NAME, None, MATERIAL)
    with pytest.raises(AlreadyExists):
        write_material(client, NAME, None, MATERIAL)
    before = read_secret(client, NAME)
    write_material(client, NAME, before, Material(b"theirs"))
    with pytest.raises(Conflict):
        write_material(client, NAME, before, MATERIAL)
    assert material_of(read_secret(client, NAME)) == Material(b"theirs")


def test_what_is_no_base64_is_missing() -> None:
    """Whatever else is in there."""
    data = FrozenMap({"ca.crt": "?", "ca.key": "=", "tls.crt": b64encode(b"c").decode(), "other": "?"})
    secret = Secret.named("a", data=data)
    assert material_of(secret) == Material(pair=KeyPair(b"c", b""))
    assert material_of(Secret.named("a")) == material_of(None) == Material()
