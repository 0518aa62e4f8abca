"""The Secret that contains the webhook's authorities and certificate."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode

from handloop.apis.meta import EMPTY_MAP, FrozenMap, Kind
from handloop.client.errors import NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.conversion.trust import Material
from handloop.controller.runtime.serving.key_pairs import KeyPair
from handloop.informers.keys import ObjectName

_AUTHORITIES, _KEY, _CERTIFICATE, _PAIR_KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"


class Secret(Kind, group="", version="v1"):
    """A Secret."""

    data: FrozenMap = EMPTY_MAP


def read_secret(client: Client, name: ObjectName) -> Secret | None:
    """Return the current Secret, or None if it does not exist. Raises: ClientError if the read fails."""
    try:
        return client.resource(Secret).get(name.name, namespace=name.namespace)
    except NotFound:
        return None


def read_pair(client: Client, name: ObjectName) -> KeyPair:
    """Return the key pair that the webhook serves with, or NO_PAIR if it has none. Raises: ClientError."""
    return material_of(read_secret(client, name)).pair


def material_of(secret: Secret | None) -> Material:
    """Return a Secret's content. Parts that are missing or not base64 are empty."""
    data = {} if secret is None else secret.data
    pair = KeyPair(_decoded(data, _CERTIFICATE), _decoded(data, _PAIR_KEY))
    return Material(_decoded(data, _AUTHORITIES), _decoded(data, _KEY), pair)


def write_material(client: Client, name: ObjectName, secret: Secret | None, material: Material) -> None:
    """
    Write the material to the Secret that was read, or create the Secret.

    Raises: Conflict or AlreadyExists if another client has written the Secret since; other ClientErrors.
    """
    parts = {
        _AUTHORITIES: material.authorities,
        _KEY: material.key,
        _CERTIFICATE: material.pair.certificate,
        _PAIR_KEY: material.pair.key,
    }
    data = FrozenMap({key: b64encode(value).decode() for key, value in parts.items()})
    secrets = client.resource(Secret)
    if secret is None:
        secrets.create(Secret.named(name.name, namespace=name.namespace, data=data))
    else:
        patch = {"metadata": {"resourceVersion": secret.metadata.resource_version}, "data": data}
        secrets.patch(name.name, patch, namespace=name.namespace)


def _decoded(data: FrozenMap | dict[str, str], key: str) -> bytes:
    try:
        return b64decode(data.get(key, ""), validate=True)
    except binascii.Error:
        return b""
