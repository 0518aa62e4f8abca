"""The duration of a field."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from handloop.apis.crd_schema import object_schema
from handloop.apis.duration_field import Duration, timedelta_of
from handloop.apis.meta import APIStruct, Kind


class KeptSpec(APIStruct):
    keep: Duration = "30d"


class Kept(Kind, group="example.org", version="v1"):
    spec: KeptSpec = KeptSpec()


def _decoded(text: str) -> timedelta:
    return timedelta_of(msgspec.json.decode(msgspec.json.encode({"keep": text}), type=KeptSpec).keep)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30d", timedelta(days=30)),
        ("1h30m", timedelta(minutes=90)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("36h", timedelta(hours=36)),
        ("0s", timedelta()),
        ("007m", timedelta(minutes=7)),
        ("99999d99999h99999m99999s", timedelta(days=99999, hours=99999, minutes=99999, seconds=99999)),
    ],
)
def test_a_field_may_have_days(text: str, length: timedelta) -> None:
    """Whole numbers with units from the largest to the smallest."""
    assert _decoded(text) == length


@pytest.mark.parametrize(
    "text", ["", "5", "d", "1.5h", "-1h", "+1h", "1m1h", "1h1h", "5ms", "1w", "1 d", "1D", "100000d", "1d\n"]
)
def test_other_texts_are_no_field(text: str) -> None:
    """The decoder and timedelta_of refuse the same; the server has the same pattern."""
    with pytest.raises(msgspec.ValidationError):
        _decoded(text)
    with pytest.raises(ValueError, match="write days, hours, minutes and seconds, as in 1d12h or 90s"):
        timedelta_of(text)
    schema = object_schema(Kept)["properties"]["spec"]["properties"]["keep"]
    assert schema == {
        "type": "string",
        "minLength": 2,
        "pattern": "^([0-9]{1,5}d)?([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$",
        "default": "30d",
    }
