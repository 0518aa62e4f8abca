"""The data of a Secret, as the server stores it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

from handloop.apis.meta import FrozenMap


def secret_data(values: Mapping[str, str | bytes]) -> FrozenMap:
    """Encode plain values in base64, for `Secret.data`. Strings are first encoded in UTF-8."""
    raw = {key: value.encode() if isinstance(value, str) else value for key, value in values.items()}
    return FrozenMap({key: b64encode(value).decode() for key, value in raw.items()})
