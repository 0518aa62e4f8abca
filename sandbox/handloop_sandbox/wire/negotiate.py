"""
Content negotiation: chooses the form of a response from the Accept header.

Follows: apiserver pkg/endpoints/handlers/negotiation (media types, `as`, `g`, `v`), and go-restful's check
for the routes of built-in kinds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

import yaml

from handloop_sandbox.wire.go_yaml import FLOAT, INTEGER
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError, failure, not_acceptable

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
OBJECT_TYPES: Final = (JSON, YAML, PROTOBUF)
_STREAM_TYPES: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_META_VERSIONS: Final = ("v1", "v1beta1")
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_SAFE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class AnswerShape(StrEnum):
    """The representation of an object in a response."""

    OBJECT = ""
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"


class Form(NamedTuple):
    """The form of a response: its shape, the shape's meta.k8s.io version, and its encoding."""

    shape: AnswerShape = AnswerShape.OBJECT
    version: str = "v1"
    yaml: bool = False
    pretty: bool = False

    @property
    def content_type(self) -> str:
        """The value of the Content-Type header."""
        return YAML if self.yaml else JSON

    @property
    def plain(self) -> bool:
        """Whether stored bytes can be sent unchanged."""
        return not self.yaml and not self.pretty

    def encode(self, content: bytes) -> bytes:
        """Convert JSON to the requested encoding."""
        return content if self.plain else self.encode_value(json.loads(content))

    def encode_value(self, value: Any) -> bytes:
        """Encode a value in the requested encoding."""
        if self.yaml:
            return yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True).encode()
        if self.pretty:
            return json.dumps(value, indent=2, ensure_ascii=False).encode()
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


PLAIN: Final = Form()


class _Dumper(_SAFE_DUMPER):  # type: ignore[misc]  # the C dumper when there is one
    """A YAML dumper that writes like Go, with double quotes around strings that look like another type."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True, so that equal values are written out instead of becoming aliases."""
        del data
        return True


def _represent_text(dumper: Any, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if not text or dumper.resolve(yaml.ScalarNode, text, (True, False)) != _TEXT_TAG:
        style = '"'
    node: yaml.ScalarNode = dumper.represent_scalar(_TEXT_TAG, text, style=style)
    return node


_Dumper.add_representer(str, _represent_text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("[yYnN]$"), list("yYnN"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", INTEGER, list("-+0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


@dataclass(frozen=True, slots=True)
class Clause:
    """One media type of an Accept header."""

    media_type: str
    parameters: Mapping[str, str]
    quality: float

    def accepts(self, media_type: str) -> bool:
        """Return whether this clause accepts a media type."""
        if self.media_type in ("*/*", media_type):
            return True
        major, _, minor = self.media_type.partition("/")
        return minor == "*" and media_type.startswith(f"{major}/")


@lru_cache(maxsize=256)  # clients send the same few headers with every request
def clauses(accept: str) -> tuple[Clause, ...]:
    """Return the clauses of an Accept header, in descending order of quality."""
    found = [_clause(part) for part in accept.split(",") if part.strip()]
    return tuple(sorted(found, key=lambda clause: -clause.quality))


@lru_cache(maxsize=512)
def negotiate(accept: str, *, pretty: str | None, watch: bool, resource: ServedResource | None) -> Form:
    """
    Return the form of a response that contains objects.

    Args: pretty is the query parameter; resource is None for a document that does not belong to a resource.
    Raises: StatusError 406 if no accepted media type is available.
    """
    wanted = clauses(accept)
    if not wanted:
        return Form(pretty=_truthy(pretty))
    if resource is not None and not resource.custom:
        _check_routes(wanted, watch=watch)
    for clause in wanted:
        form = _form(clause, pretty, watch=watch)
        if form is not None:
            return form
    raise not_acceptable(_STREAM_TYPES if watch else OBJECT_TYPES)


def error_form(accept: str, pretty: str | None = None) -> Form:
    """Return the form of an error response: YAML or indented JSON if requested, otherwise plain JSON."""
    for clause in clauses(accept):
        if clause.media_type in (JSON, "*/*", YAML):
            return Form(yaml=clause.media_type == YAML, pretty=_truthy(pretty))
    return PLAIN


def reads_only_protobuf(accept: str) -> bool:
    """Return whether the client accepts error responses only as protobuf."""
    wanted = clauses(accept)
    readable = any(clause.accepts(media) for clause in wanted for media in (JSON, YAML))
    return not readable and any(clause.media_type == PROTOBUF for clause in wanted)


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip. As in Kubernetes, `gzip;q=1` does not count."""
    return "gzip" in (token.strip() for token in accept_encoding.split(","))


def wants_aggregated(accept: str) -> str | None:
    """Return the requested version of aggregated discovery, or None if plain documents are requested."""
    for clause in clauses(accept):
        parameters = clause.parameters
        if parameters.get("as") == "APIGroupDiscoveryList" and parameters.get("g") == "apidiscovery.k8s.io":
            if clause.media_type == JSON and parameters.get("v") == "v2":
                return "v2"
        elif clause.accepts(JSON) and "as" not in parameters:
            return None
    return None


def choose(accept: str, available: Sequence[str]) -> str | None:
    """Return the available media type that the client prefers, or None if it accepts none of them."""
    wanted = clauses(accept) or (Clause("*/*", {}, 1.0),)
    return next((media for clause in wanted for media in available if clause.accepts(media)), None)


def check_document(accept: str, available: Sequence[str]) -> None:
    """Raise a StatusError 406 if the client accepts none of a document's media types."""
    wanted = clauses(accept)
    if wanted and not any(clause.accepts(media) for clause in wanted for media in available):
        raise _no_representation(available)


def _clause(part: str) -> Clause:
    media_type, *rest = (piece.strip() for piece in part.split(";"))
    parameters = dict(_parameter(piece) for piece in rest if piece)
    try:
        quality = float(parameters.pop("q", "1"))
    except ValueError:
        quality = 1.0
    return Clause(media_type.lower(), parameters, quality)


def _parameter(piece: str) -> tuple[str, str]:
    name, _, value = piece.partition("=")
    return name.strip(), value.strip().strip('"')


def _form(clause: Clause, pretty: str | None, *, watch: bool) -> Form | None:
    media_types = (JSON,) if watch else (JSON, YAML)
    media_type = next((media for media in media_types if clause.accepts(media)), None)
    if media_type is None:
        return None
    shape = clause.parameters.get("as", "")
    version = clause.parameters.get("v", "v1") if shape else "v1"
    if shape and not _transforms(shape, clause.parameters.get("g", ""), version):
        return None
    indent = _truthy(pretty) or _truthy(clause.parameters.get("pretty"))
    return Form(AnswerShape(shape), version, media_type == YAML, indent and not watch)


def _transforms(shape: str, group: str, version: str) -> bool:
    return group == "meta.k8s.io" and version in _META_VERSIONS and shape in set(AnswerShape)


def _check_routes(wanted: Sequence[Clause], *, watch: bool) -> None:
    available = (*OBJECT_TYPES, *_STREAM_TYPES) if watch else OBJECT_TYPES
    if not any(clause.media_type in ("*/*", *OBJECT_TYPES) for clause in wanted):
        raise _no_representation(available)


def _no_representation(available: Sequence[str]) -> StatusError:
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}"
    return StatusError(failure(406, "NotAcceptable", text, details={}))


def _truthy(value: str | None) -> bool:
    return value is not None and value.lower() not in ("", "0", "false")
