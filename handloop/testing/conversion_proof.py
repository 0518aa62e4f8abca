"""
Proves that a kind's conversions lose nothing.

    def test_no_version_loses_anything() -> None:
        assert_converts(Site)

The proof generates objects from the schemas of all versions. For each pair of versions it checks that a round
trip to the other version leaves an object unchanged, including its status and metadata; that a change made in
the other version survives the conversion back; that a function's result fits its schema; and that a second
conversion of the same object gives the same result. If a check fails, the error shows the smallest failing
object that was found.
Follows: the laws of lenses (GetPut, PutGet), kubebuilder's round-trip fuzz tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from itertools import permutations
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from handloop.apis.converter import ConversionError, Converter
from handloop.apis.crd_schema import object_schema
from handloop.apis.decoders import decoder_of
from handloop.apis.kept_fields import Document
from handloop.apis.meta import Kind, ObjectMeta, decode_hook, encode_hook
from handloop.apis.versions import is_converted, versions_of
from handloop.testing.schema_objects import fields_schema, objects_of, overlaid, unknown_fields
from handloop.testing.schema_values import Schema

_BY_CHANCE: Final = 200
_SMALLER: Final = 300
"""The maximum number of parts that are removed from a failing object to find a smaller one."""
_METADATA: Final[Document] = {
    "name": "a",
    "namespace": "default",
    "uid": "7f3c",
    "resourceVersion": "7",
    "generation": 2,
    "creationTimestamp": "2024-01-01T00:00:00Z",
    "labels": {"app": "a"},
    "annotations": {"note": "n"},
    "finalizers": ["example.org/f"],
    "managedFields": [{"manager": "m", "operation": "Update"}],
}


class _Broken(NamedTuple):
    """A law that does not hold."""

    law: str
    paths: tuple[str, ...]
    got: Any
    edited: Any = None

    @property
    def kind(self) -> str:
        """The law, without its object."""
        return self.law.partition(":")[0]


def assert_converts(kind: type[Kind], *, samples: Sequence[Kind] = (), seed: int = 1) -> None:
    """
    Check that the conversions between all versions of a kind lose nothing.

    Args: samples are objects of any version. They are needed for constraints that the schema does not reveal,
    such as CEL rules or a pattern that is hard to match. seed determines the random objects.
    Raises: AssertionError with the smallest failing object and the fields that changed; ValueError for a kind
    without conversion functions, or if no valid value of a field is found. Blocks: for about a second if the
    kind has a hundred fields.
    """
    if not is_converted(kind):
        raise ValueError(f"no functions convert the versions of {kind.__name__}; there is nothing to prove")
    versions = [_Version(each, samples, seed) for each in versions_of(kind)]
    pairs = [_Pair(Converter(kind), source, target, seed) for source, target in permutations(versions, 2)]
    for pair in pairs:
        pair.hold()
    # The round trips come first, because a failure without a change is simpler to understand.
    for pair in pairs:
        pair.hold_changes()


class _Version:
    """One version and its objects."""

    def __init__(self, kind: type[Kind], samples: Sequence[Kind], seed: int) -> None:
        self.kind = kind
        self.name = kind.resource.version
        self._whole_schema = object_schema(kind)
        self.schema = fields_schema(self._whole_schema)
        given = [_document(sample) for sample in samples if isinstance(sample, kind)]
        random = Random(seed)
        for path in unknown_fields(self.schema, random):
            if not any(_has(sample, path) for sample in given):
                raise ValueError(
                    f"{kind.__name__}.{path}: no valid value is known; pass one in samples=[...]"
                )
        made = (*given, *objects_of(self.schema, random, _BY_CHANCE))
        bare = (
            {name: value for name, value in each.items() if name in self.schema["properties"]}
            for each in made
        )
        self.objects = [each for each in bare if self.takes(each)]
        if not self.objects:
            raise ValueError(
                f"{kind.__name__}: found no object that its schema and rules allow; pass one in samples=[...]"
            )

    def whole(self, fields: Document) -> Document:
        """Return an object with these fields, and with metadata."""
        head = {"apiVersion": self.kind.resource.api_version, "kind": self.kind.resource.kind}
        return {**head, "metadata": deepcopy(_METADATA), **fields}

    def takes(self, fields: Document) -> bool:
        """Return whether the server would accept the object and our type could decode it."""
        whole = self.whole(fields)
        return _judge()(self._whole_schema, whole) and _read(self.kind, whole) is not None


class _Pair:
    """Conversions from one version to another and back."""

    def __init__(self, converter: Converter, source: _Version, target: _Version, seed: int) -> None:
        self._converter = converter
        self._source, self._target = source, target
        self._seed = seed

    def hold(self) -> None:
        """Check that objects survive a round trip unchanged. Raises: AssertionError."""
        for fields in self._source.objects:
            self._check(fields, None)

    def hold_changes(self) -> None:
        """Check that a change made in the other version survives. Raises: AssertionError."""
        random = Random(self._seed)
        for fields in self._source.objects:
            self._check(fields, random.choice(self._target.objects))

    def _check(self, fields: Document, edit: Document | None) -> None:
        if (broken := self._broken(fields, edit)) is not None:
            smallest, edit = self._smallest(fields, edit, broken)
            raise AssertionError(self._told(smallest, self._broken(smallest, edit) or broken))

    def _broken(self, fields: Document, edit: Document | None) -> _Broken | None:
        source, target = self._source, self._target
        given = source.whole(fields)
        try:
            there = self._to(target, deepcopy(given))
            if self._to(target, deepcopy(given)) != there:
                return _Broken("gives something else the second time", (), there)
            if _read(target.kind, there) is None:
                return _Broken(f"gives an object that is not a valid {target.name}", (), there)
            back = self._to(source, there)
        except ConversionError as error:
            return _Broken(f"fails: {error}", (), None)
        if paths := _differences(source.kind, given, back):
            return _Broken("loses", paths, back)
        return None if edit is None else self._broken_by(edit, there)

    def _broken_by(self, edit: Document, there: Document) -> _Broken | None:
        """Return how a change made in the other version is lost, or None if it survives."""
        source, target = self._source, self._target
        fields = {name: value for name, value in there.items() if name in target.schema["properties"]}
        changed = overlaid(fields, edit)
        if not target.takes(changed):
            return None
        edited = {**there, **changed}
        try:
            seen = self._to(target, self._to(source, edited))
        except ConversionError as error:
            return _Broken(f"fails after a change made in {target.name}: {error}", (), None, edit)
        paths = _differences(target.kind, edited, seen)
        return _Broken(f"loses a change made in {target.name} to", paths, seen, edit) if paths else None

    def _to(self, version: _Version, obj: Document) -> Document:
        return self._converter.convert(obj, version.kind.resource.api_version)

    def _smallest(
        self, fields: Document, edit: Document | None, broken: _Broken
    ) -> tuple[Document, Document | None]:
        """Return the smallest object that still breaks the same law."""

        def breaks(fields: Document, edit: Document | None) -> bool:
            found = self._broken(fields, edit)
            return found is not None and found.kind == broken.kind

        fields = _shrunk(fields, lambda smaller: self._source.takes(smaller) and breaks(smaller, edit))
        return fields, edit and _shrunk(edit, lambda smaller: breaks(fields, smaller))

    def _told(self, fields: Document, broken: _Broken) -> str:
        source, target = self._source, self._target
        name = self._converter.kind.__name__
        way = f"{source.name} -> {target.name}"
        lines = [
            f"{name} {way} {broken.law} {', '.join(broken.paths)}".rstrip(),
            f"  object: {_text(fields)}",
        ]
        if broken.edited is not None:
            lines.append(f"  change: {_text(broken.edited)}")
        if isinstance(broken.got, dict):
            lines.append(f"  became: {_text({**broken.got, 'metadata': _own(broken.got)})}")
        if broken.law == "loses" and broken.paths[0].startswith(("spec.", "status.")):
            names = ", ".join(f'"{path}"' for path in broken.paths)
            keeps = f"{source.kind.__name__}.kept_fields = ({names},)"
            lines.append(f"  fix: convert it in both functions, or preserve it with {keeps}")
        return "\n".join([*lines, f"  again: assert_converts({name}, seed={self._seed})"])


def _own(obj: Document) -> Document:
    """Return the metadata fields that differ from those that all test objects start with."""
    metadata = obj["metadata"]
    return {name: value for name, value in metadata.items() if _METADATA.get(name) != value}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _document(obj: Kind) -> Document:
    document: Document = msgspec.json.decode(msgspec.json.encode(obj, enc_hook=encode_hook))
    return document


def _has(obj: Any, path: str) -> bool:
    for name in path.split("."):
        if not isinstance(obj, dict) or name not in obj:
            return False
        obj = obj[name]
    return True


@cache
def _judge() -> Callable[[Schema, Document], bool]:
    """Return the check whether a server accepts an object. Without the sandbox, all objects pass."""
    try:
        from handloop_sandbox.custom import cel_rules, correlation, schema  # noqa: PLC0415 - it is an extra
    except ImportError:
        return lambda _schema, _obj: True
    return lambda rules, obj: (
        not (schema.validate(rules, obj) or cel_rules.check(rules, obj, correlation.ABSENT).causes)
    )


def _read(kind: type[Kind], obj: Document) -> Kind | None:
    try:
        return decoder_of(kind, decode_hook).decode(msgspec.json.encode(obj))
    except (msgspec.ValidationError, ValueError):
        return None


def _differences(kind: type[Kind], one: Document, other: Document) -> tuple[str, ...]:
    """
    Return the paths at which two objects differ in meaning.

    An omitted field equals a field that is set to its default.
    """
    first, second = _read(kind, one), _read(kind, other)
    if first is None or second is None:
        return ("what was valid",)
    found = [*_paths(_metadata(one), _metadata(other), "metadata")]
    if _bare(first) != _bare(second):
        found += _paths(_document(_bare(first)), _document(_bare(second)), "")
    return tuple(dict.fromkeys(found))


def _bare(obj: Kind) -> Kind:
    return msgspec.structs.replace(obj, metadata=ObjectMeta())


def _metadata(obj: Document) -> Document:
    """Return the metadata without the annotations in which conversions store kept_fields."""
    metadata: Document = obj["metadata"]
    ours = f"{obj['apiVersion'].partition('/')[0]}/kept-"
    annotations = metadata.get("annotations", {}).items()
    return {**metadata, "annotations": {key: value for key, value in annotations if not key.startswith(ours)}}


def _paths(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from _paths(one.get(name), other.get(name), f"{path}.{name}" if path else name)
    elif (None if one == {} else one) != (None if other == {} else other):
        yield path


def _shrunk(fields: Document, shows: Callable[[Document], bool]) -> Document:
    for _ in range(_SMALLER):
        smaller = next((each for each in _smaller(fields) if shows(each)), None)
        if smaller is None:
            break
        fields = smaller
    return fields


def _smaller(value: Any) -> Iterator[Any]:
    """Values with one part less."""
    if isinstance(value, dict):
        for name in value:
            yield {key: each for key, each in value.items() if key != name}
        for name, inner in value.items():
            yield from ({**value, name: each} for each in _smaller(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield value[:at] + value[at + 1 :]
            yield from ([*value[:at], each, *value[at + 1 :]] for each in _smaller(inner))
