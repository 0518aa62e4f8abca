"""Compares two servers' answers, and ignores differences in versions, UIDs, times, addresses and order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from handloop_sandbox.comparison.endpoint import MANAGER, Answer, Body

_NOISE: Final = frozenset(
    {
        "clusterIP",
        "clusterIPs",
        "creationTimestamp",
        "deletionTimestamp",
        "healthCheckNodePort",
        "lastTransitionTime",
        "lastUpdateTime",
        "nodeName",
        "nodePort",
        "resourceVersion",
        "selfLink",
        "time",
        "uid",
    }
)
_UNORDERED: Final = frozenset({"causes", "managedFields"})
_WORDS: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
    r"|\b10(?:\.\d+){3}\b|kube-api-access-\w{5}|:3\d{4}/"
)
_QUOTED: Final = re.compile(r'"\{(?:[^"\\]|\\.)*\}"')
_WRITTEN_LATER: Final = ("deployment.kubernetes.io/revision", "node.alpha.kubernetes.io/ttl")
_AGE: Final = re.compile(r"\d+[smhd](\d+[smh])?")
_OWN_WORDS: Final = "the sandbox does not "
_LONGEST: Final = 160
_MOST: Final = 20


def compared(own: Answer, other: Answer) -> list[str]:
    """
    Return the differences between two answers, one line per field: `spec.size: 3 here, 4 there`.

    For built-in kinds, the status is ignored, because controllers write it at unpredictable times.
    """
    if own.status != other.status:
        return [f"status {own.status} here, {other.status} there: {_message(own)} / {_message(other)}"]
    found = [
        f"warning only {where}: {text}"
        for where, these, those in (("here", own, other), ("there", other, own))
        for text in sorted(set(these.warnings) - set(those.warnings))
        if _OWN_WORDS not in text
    ]
    return found + list(_differing(_plain(_settled(own.body)), _plain(_settled(other.body)), ""))[:_MOST]


def is_built_in(obj: Body) -> bool:
    """Return whether an object's API group looks like a built-in one."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def _settled(body: Any) -> Any:
    """Return a body. If it is an object of a built-in kind, omit the fields that controllers write."""
    is_object = isinstance(body, dict) and body.get("kind") != "Status"
    if not is_object or not isinstance(body.get("metadata"), dict) or not is_built_in(body):
        return body
    metadata = body["metadata"]
    managed = [entry for entry in metadata.get("managedFields") or () if entry.get("manager") == MANAGER]
    notes = metadata.get("annotations") or {}
    own = {name: text for name, text in notes.items() if name not in _WRITTEN_LATER}
    rest = {key: value for key, value in body.items() if key != "status"}
    return {**rest, "metadata": {**metadata, "managedFields": managed, "annotations": own}}


def _message(answer: Answer) -> str:
    body = answer.body
    text = body.get("message", "") or body.get("kind", "") if isinstance(body, dict) else str(body)
    return _short(text)


def _plain(value: Any, key: str = "") -> Any:
    """Return a value without the parts that differ between any two servers."""
    if isinstance(value, dict):
        return {name: _plain(entry, name) for name, entry in value.items() if name not in _NOISE}
    if isinstance(value, list):
        entries = [_plain(entry) for entry in value]
        return (
            sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))
            if key in _UNORDERED
            else entries
        )
    if not isinstance(value, str):
        return value
    text = "*" if _AGE.fullmatch(value) else _WORDS.sub("*", value)
    return _with_sorted_causes(_QUOTED.sub(_with_sorted_members, text)) if key == "message" else text


def _with_sorted_members(found: re.Match[str]) -> str:
    """Return the object that a message quotes, in a form that is the same for all servers."""
    try:
        return json.dumps(_plain(_settled(json.loads(json.loads(found[0])))), sort_keys=True)
    except ValueError:
        return found[0]


def _with_sorted_causes(text: str) -> str:
    """Return a message with its causes sorted, because a real server lists them in random order."""
    head, opened, rest = text.partition(" is invalid: [")
    return f"{head}{opened}{', '.join(sorted(rest[:-1].split(', ')))}]" if opened else text


def _differing(own: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(own, dict) and isinstance(other, dict):
        for name in sorted({*own, *other}):
            where = f"{path}.{name}" if path else name
            if name not in other:
                yield f"{where}: only here: {_short(own[name])}"
            elif name not in own:
                yield f"{where}: only there: {_short(other[name])}"
            else:
                yield from _differing(own[name], other[name], where)
    elif isinstance(own, list) and isinstance(other, list) and len(own) == len(other):
        for index, (mine, theirs) in enumerate(zip(own, other, strict=True)):
            yield from _differing(mine, theirs, f"{path}[{index}]")
    elif own != other or isinstance(own, bool) != isinstance(other, bool):
        yield f"{path}: {_short(own)} here, {_short(other)} there"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
