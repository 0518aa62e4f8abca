"""
A ConversionReview: the API server's request to convert objects, and the response.

The API allows only two responses: all of a review's objects are converted, or none. The message of a failure
contains the errors of the first few objects.
Follows: apiextensions.k8s.io/v1 ConversionReview; apiextensions-apiserver pkg/apiserver/conversion
(webhook_converter.go), which checks the response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from handloop.apis.converter import ConversionError, Converter
from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind
from handloop.seams.logs import get_logger, in_words

log = get_logger("conversion")

_NAMED: Final = 5
_LONGEST: Final = 500
"""How many objects a failure names, and the maximum length of the text about each one."""

Converters = Mapping[tuple[str, str], Converter]
"""By group and kind."""


class ReviewError(ValueError):
    """The body is not a review."""


class _Request(msgspec.Struct, frozen=True):
    uid: str
    desiredAPIVersion: str  # noqa: N815 - as on the wire
    objects: list[dict[str, Any]]


class _Review(msgspec.Struct, frozen=True):
    request: _Request


_REVIEW: Final = decoder_of(_Review)


def converters_of(kinds: Sequence[type[Kind]]) -> Converters:
    """Return the converters of these kinds."""
    return {(kind.resource.group, kind.resource.kind): Converter(kind) for kind in kinds}


def reviewed(
    body: bytes, converters: Converters, is_news: Callable[[str], bool] = lambda _text: True
) -> bytes:
    """
    Return the response to a review, as JSON.

    Args: is_news returns whether to log a failure with a given text.
    Raises: ReviewError if the body is not a ConversionReview.
    """
    try:
        request = _REVIEW.decode(body).request
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise ReviewError(f"no ConversionReview of apiextensions.k8s.io/v1: {error}") from error
    answer = {"uid": request.uid, **_result(request, converters, is_news)}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": answer}
    return msgspec.json.encode(review)


def _result(request: _Request, converters: Converters, is_news: Callable[[str], bool]) -> dict[str, Any]:
    wanted, converted, failures = request.desiredAPIVersion, [], []
    group = wanted.rpartition("/")[0]
    for obj in request.objects:
        converter = converters.get((group, str(obj.get("kind"))))
        try:
            if converter is None:
                raise ConversionError(f"this webhook does not convert {obj.get('kind')} of {group}")  # noqa: TRY301
            converted.append(converter.convert(obj, wanted))
        except ConversionError as error:
            failures.append(_plain(str(error)[:_LONGEST]))
        except BaseException as error:
            log.exception("A conversion failed", kind=str(obj.get("kind")), to=wanted, err=in_words(error))
            failures.append(_plain(f"{obj.get('kind')}: {type(error).__name__}"[:_LONGEST]))
    if not failures:
        return {"result": {"status": "Success"}, "convertedObjects": converted}
    more = len(failures) - _NAMED
    text = "; ".join(failures[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
    if is_news(text):
        log.warning("Could not convert", to=wanted, failed=len(failures), of=len(request.objects), err=text)
    return {"result": {"status": "Failure", "message": text}, "convertedObjects": []}


def _plain(text: str) -> str:
    """Return text that is safe for a terminal and JSON: control characters and surrogates are replaced."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
