"""
Conversion of custom objects by external code: a webhook, or a function that a test provides.

Stored state is read under the engine's lock, and external code is never called while that lock is held. Work
that needs an unknown conversion result raises ConversionNeededError. The engine then releases the lock, calls
the converter, and repeats the work from the start with the result in Known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from handloop_sandbox.wire.status import StatusError, failure

Object = dict[str, Any]
Answers = dict[bytes, "Object | str"]
"""Maps the key from question() to the converted object, or to the reason why its conversion failed."""

_TAKEN_OVER: Final = ("labels", "annotations")
_encode = msgspec.json.Encoder().encode


class ConversionNeededError(Exception):
    """The current work must be repeated after these objects have been converted. No error has occurred."""

    def __init__(self, conversion: WebhookConversion, objects: Sequence[Object], api_version: str) -> None:
        super().__init__(f"{len(objects)} objects of {conversion.name} must be converted to {api_version}")
        self.conversion = conversion
        self.objects = objects
        self.api_version = api_version


class ConversionFailedError(StatusError):
    """An object cannot be converted, so the server answers the request with a 500."""

    def __init__(self, message: str) -> None:
        super().__init__(failure(500, "", message))


@dataclass(slots=True)
class Known:
    """
    The conversion results that the current work can use. Locks: the caller holds the engine's lock.

    filled maps each definition to its newest revision and the versions to which its objects have been
    converted.
    """

    answers: Answers = field(default_factory=dict)
    filled: dict[str, tuple[tuple[str, int], set[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebhookConversion:
    """The conversion webhook of the definition `name`. revision is the definition's uid and generation."""

    name: str
    revision: tuple[str, int]
    webhook: Mapping[str, Any] = field(compare=False)
    known: Known = field(compare=False, repr=False)

    @property
    def filled(self) -> set[str]:
        """The versions to which objects have been converted since the definition changed."""
        revision, versions = self.known.filled.get(self.name, (None, set()))
        if revision != self.revision:
            versions = set()
            self.known.filled[self.name] = (self.revision, versions)
        return versions

    def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """
        Return the objects in another API version. Only labels and annotations of their metadata can change.

        Raises: ConversionNeededError with the objects whose results are not known yet; ConversionFailedError
        if the converter could not convert an object.
        """
        questions = [question(self.name, obj, api_version) for obj in objects]
        known = self.known.answers
        asked = dict(zip(questions, objects, strict=True))
        missing = [obj for each, obj in asked.items() if each not in known]
        if missing:
            raise ConversionNeededError(self, missing, api_version)
        return [_answered(obj, known[each]) for each, obj in zip(questions, objects, strict=True)]


def question(name: str, obj: Object, api_version: str) -> bytes:
    """Return the key in Answers for converting an object (without its resourceVersion) to an API version."""
    return _encode((name, api_version, unversioned(obj)))


def unversioned(obj: Object) -> Object:
    """Return the stored object without its resourceVersion, as a converter receives it."""
    if "resourceVersion" not in obj.get("metadata", ()):
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata}


def _answered(obj: Object, answer: Object | str) -> Object:
    if isinstance(answer, str):
        raise ConversionFailedError(answer)
    if "metadata" not in obj:
        return answer
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _TAKEN_OVER}
    metadata |= {
        key: answer["metadata"][key] for key in _TAKEN_OVER if answer["metadata"].get(key) is not None
    }
    return {**answer, "metadata": metadata}
