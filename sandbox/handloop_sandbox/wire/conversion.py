"""
The conversion of custom objects outside the server: by a webhook or by a test's function.

The state is read under a lock, and nothing outside is called while the lock is held. Work that needs a
conversion whose result is not known raises ConversionNeededError; the engine releases the lock, calls the
converter, and repeats the work from its start with the answer known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from handloop_sandbox.wire.status import StatusError, failure

Object = dict[str, Any]
Answers = dict[bytes, "Object | str"]
"""Keyed by question(): the converted object, or the reason why the conversion failed."""

_TAKEN_OVER: Final = ("labels", "annotations")
_encode = msgspec.json.Encoder().encode


class ConversionNeededError(Exception):
    """Not a failure but control flow: these objects have to be converted first."""

    def __init__(self, conversion: WebhookConversion, objects: Sequence[Object], api_version: str) -> None:
        super().__init__(f"{len(objects)} objects of {conversion.name} are needed as {api_version}")
        self.conversion = conversion
        self.objects = objects
        self.api_version = api_version


class ConversionFailedError(StatusError):
    """An object cannot be converted; the request that needs it is refused (500)."""

    def __init__(self, message: str) -> None:
        super().__init__(failure(500, "", message))


@dataclass(slots=True)
class Known:
    """
    The answers that the current work may use. Locks: the engine's lock is held.

    filled holds, for the newest revision of each definition, the versions to which objects were converted.
    """

    answers: Answers = field(default_factory=dict)
    filled: dict[str, tuple[tuple[str, int], set[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebhookConversion:
    """The webhook of one definition, by name; revision is its uid and generation."""

    name: str
    revision: tuple[str, int]
    webhook: Mapping[str, Any] = field(compare=False)
    known: Known = field(compare=False, repr=False)

    @property
    def filled(self) -> set[str]:
        """The versions to which objects were converted since the definition changed."""
        revision, versions = self.known.filled.get(self.name, (None, set()))
        if revision != self.revision:
            versions = set()
            self.known.filled[self.name] = (self.revision, versions)
        return versions

    def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """
        Return objects in another version, which keep their metadata except for labels and annotations.

        Raises: ConversionNeededError with all objects whose result is not known, ConversionFailedError.
        """
        questions = [question(self.name, obj, api_version) for obj in objects]
        known = self.known.answers
        asked = dict(zip(questions, objects, strict=True))
        missing = [obj for each, obj in asked.items() if each not in known]
        if missing:
            raise ConversionNeededError(self, missing, api_version)
        return [_answered(obj, known[each]) for each, obj in zip(questions, objects, strict=True)]


def question(name: str, obj: Object, api_version: str) -> bytes:
    """Return the key of an answer: definition, object (without its resourceVersion) and wanted version."""
    return _encode((name, api_version, unversioned(obj)))


def unversioned(obj: Object) -> Object:
    """Return the stored object without its resourceVersion, as a converter gets it."""
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
