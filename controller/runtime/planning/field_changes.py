"""
The fields that a write changes: the server's object compared with the response to the dry run.

Both objects come from the server, so defaults, pruned fields, spellings of quantities and webhooks cause no
differences. For a new object, only the fields that were sent are shown, because the server generates
different values for the others on every attempt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

Way: TypeAlias = tuple[Any, ...]
"""The path to a value. Each step is a field's name, an index, or a Keyed."""

TIME: Final = "<time>"
"""Printed instead of a time, because times differ on every attempt."""
HIDDEN: Final = "***"
_BEFORE, _AFTER = "*** (before)", "*** (after)"  # as kubectl diff
_RANDOM: Final = frozenset({"uid", "creationTimestamp"})
SERVERS: Final = frozenset({"managedFields", "resourceVersion", "generation", "selfLink"}) | _RANDOM
"""The metadata that the server writes."""
_KEYS: Final = ("name", "type", "key", "mountPath", "containerPort", "port", "ip", "topologyKey", "uid")
"""Keys of list elements. The first key that all elements have, with distinct values, identifies them."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_PLAIN: Final = re.compile(r"[\w-]+")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_POD: Final = ("spec", "template")
_TEMPLATES: Final[Mapping[str, Way]] = {
    **{f"apps/v1 {kind}": _POD for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")},
    "batch/v1 Job": _POD,
    "batch/v1 CronJob": ("spec", "jobTemplate", *_POD),
}
_CONTAINERS: Final = frozenset({"containers", "initContainers"})


NOTHING: Final[Mapping[str, Any]] = {}


class Keyed(NamedTuple):
    """A step to the list element whose field key has this value."""

    key: str
    value: Any


class FieldChange(NamedTuple):
    """
    A change of one field. old or new is None if the field is absent.

    Fields: manager, the writer of the old value, or "" if we wrote it or the writer is unknown; restarts,
    the part of a pod template that changes, such as image, or "" if no pods restart.
    """

    path: str
    old: Any
    new: Any
    manager: str = ""
    restarts: str = ""


def changed_fields(
    before: Mapping[str, Any], after: Mapping[str, Any], *, ours: str = "", only: Mapping[str, Any] = NOTHING
) -> Iterator[FieldChange]:
    """
    Yield the fields that differ between an object on the server and its planned state.

    Args: ours is our field manager; if only is not empty, only the fields that it contains are compared.
    """
    kind = f"{after.get('apiVersion')} {after.get('kind')}"
    template = _TEMPLATES.get(kind)
    managed = before.get("metadata", {}).get("managedFields") or ()
    one, other = (_own(_part(only, each) if only else each) for each in (before, after))
    for way, old, new in _differences(one, other):
        is_of_pods = template is not None and way[: len(template)] == template
        reason = _reason(way[len(template or ()) :]) if is_of_pods else ""
        manager = "" if old is None else ",".join(each for each in _managers(managed, way) if each != ours)
        if (shown := _shown(kind, way, old, new)) is not None:
            yield FieldChange(spelled(way), *shown, manager, reason)


def created_fields(sent: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[FieldChange]:
    """Yield the fields of a new object that were sent, with the server's spelling of their values."""
    kind = f"{made.get('apiVersion')} {made.get('kind')}"
    for way, _, new in _differences({}, _own(_part(sent, made)) if sent else _own(made)):
        if (shown := _shown(kind, way, None, new)) is not None:
            yield FieldChange(spelled(way), *shown)


def has_templates(api_version: str, kind: str) -> bool:
    """Return whether a change to an object of this kind can restart pods."""
    return f"{api_version} {kind}" in _TEMPLATES


def _own(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object without apiVersion, kind, and the metadata that the server writes."""
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in SERVERS}
    return {**{key: obj[key] for key in obj if key not in ("apiVersion", "kind")}, "metadata": metadata}


def _part(sent: Any, made: Any) -> Any:
    """Return the parts of made that were sent. A list whose length has changed is returned whole."""
    if isinstance(sent, dict) and isinstance(made, dict):
        return {key: _part(value, made[key]) for key, value in sent.items() if key in made}
    if isinstance(sent, list) and isinstance(made, list) and len(sent) == len(made):
        return [_part(*pair) for pair in zip(sent, made, strict=True)]
    return made


def _differences(old: Any, new: Any, way: Way = ()) -> Iterator[tuple[Way, Any, Any]]:
    """Yield the differing scalars, empty maps and empty lists, each with its path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _beside(old.get(key), new.get(key), (*way, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(old, new, way)
    elif type(old) is not type(new) or old != new:
        yield way, old, new


def _beside(old: Any, new: Any, way: Way) -> Iterator[tuple[Way, Any, Any]]:
    """Like _differences, but if old or new is None, yield each value that the other one contains."""
    if old is None and isinstance(new, dict | list) and new:
        old = type(new)()
    elif new is None and isinstance(old, dict | list) and old:
        new = type(old)()
    yield from _differences(old, new, way)


def _of_lists(old: list[Any], new: list[Any], way: Way) -> Iterator[tuple[Way, Any, Any]]:
    key = next((key for key in _KEYS if _tells_apart(key, old) and _tells_apart(key, new)), "")
    if not key:
        if len(old) != len(new) and any(not isinstance(each, dict) for each in (*old, *new)):
            yield way, old or None, new or None
            return
        for index in range(max(len(old), len(new))):
            before, after = (each[index] if index < len(each) else None for each in (old, new))
            yield from _beside(before, after, (*way, index))
        return
    olds, news = ({each[key]: each for each in elements} for elements in (old, new))
    for value in sorted(olds.keys() | news.keys(), key=str):
        yield from _beside(olds.get(value), news.get(value), (*way, Keyed(key, value)))
    orders = [[value for value in each if value in olds and value in news] for each in (olds, news)]
    if orders[0] != orders[1]:
        yield (*way, "order"), orders[0], orders[1]


def _tells_apart(key: str, elements: Sequence[Any]) -> bool:
    values = [each.get(key) if isinstance(each, dict) else None for each in elements]
    return all(isinstance(each, str | int) for each in values) and len(set(values)) == len(values)


def spelled(way: Way) -> str:
    """Return a path in printed form: `spec.template.spec.containers[name=web].image`."""
    return "".join(map(_step, way)).removeprefix(".")


def _step(step: Any) -> str:
    if isinstance(step, Keyed):
        return f"[{step.key}={step.value}]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN.fullmatch(step) else f"[{msgspec.json.encode(step).decode()}]"


def _shown(kind: str, way: Way, old: Any, new: Any) -> tuple[Any, Any] | None:
    """Return the values to print, with secrets and times replaced; None if they should not be printed."""
    is_told = way[:1] in (("data",), ("stringData",)) or way[-1:] == (_LAST_APPLIED,)
    if kind == "v1 Secret" and is_told:
        if old is None or new is None:
            return (None if old is None else HIDDEN), (None if new is None else HIDDEN)
        return _BEFORE, _AFTER
    pair = _timeless(old), _timeless(new)
    # When a condition changes, the change of its time adds no information.
    return None if way[:1] == ("status",) and TIME in pair and {*pair} <= {TIME, None} else pair


def _timeless(value: Any) -> Any:
    return TIME if isinstance(value, str) and _TIME.fullmatch(value) else value


def _reason(way: Way) -> str:
    """Return which part of a pod template changes, as one word, such as image, env or labels."""
    names = [step for step in way if isinstance(step, str)]
    if names[:1] == ["spec"] and len(names) > 1:
        del names[0]
        if names[0] in _CONTAINERS and len(names) > 1:
            del names[0]
        return str(names[0])
    return str(names[1] if names[:1] == ["metadata"] and len(names) > 1 else names[0])


def _managers(managed: Sequence[Mapping[str, Any]], way: Way) -> Iterator[str]:
    """Yield the managers that own a field, according to the server."""
    for entry in managed:
        if _owns(entry.get("fieldsV1") or {}, way):
            yield str(entry.get("manager", ""))


def _owns(owned: Mapping[str, Any], way: Way) -> bool:
    for step in way:
        if not owned:
            return True  # a value that is replaced as a whole has no entries below
        below = _below(owned, step)
        if below is None:
            return False
        owned = below
    return True


def _below(owned: Mapping[str, Any], step: Any) -> Mapping[str, Any] | None:
    if not isinstance(step, Keyed):
        return owned.get(f"f:{step}")
    for name, below in owned.items():
        if name.startswith("k:") and msgspec.json.decode(name[2:]).get(step.key) == step.value:
            return dict(below)
    return None
