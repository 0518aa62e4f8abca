"""
A pod template as Go's spew prints it, which is what the names of ReplicaSets are a hash of.

Follows: kubernetes pkg/controller ComputeHash, k8s.io/utils/dump ForHash and go-spew's `%#v`: types of
members in parentheses, members in the order of declaration, absent ones as their zero values, keys sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from handloop.sandbox.wire.quantity import int64_amount

ROOT: Final = "api.core.v1.PodTemplateSpec"
_NIL: Final = "<nil>"
_ZEROS: Final = {"string": "", "bool": "false"}


class _Types(msgspec.Struct, frozen=True):
    structs: dict[str, list[tuple[str, str, str]]]
    named: dict[str, str]


@cache
def _types() -> _Types:
    return msgspec.json.decode(
        files("handloop.sandbox.kinds").joinpath("go_types.json").read_bytes(), type=_Types
    )


def dump(template: Mapping[str, Any]) -> str:
    """The text of a pod template."""
    return _with_type(ROOT, template)


def _with_type(go_type: str, value: Any) -> str:
    return f"({_shown(go_type)}){_value(go_type, value)}"


def _shown(go_type: str) -> str:
    """A type as Go names it: the last part of its package and its own name."""
    prefix_end = max(go_type.rfind("*"), go_type.rfind("]")) + 1
    prefix, name = go_type[:prefix_end], go_type[prefix_end:]
    if prefix.startswith("map["):
        prefix = f"map[{_shown(prefix[4:-1])}]"
    return prefix + ".".join(name.split(".")[-2:])


def _value(go_type: str, value: Any) -> str:
    if go_type.startswith("*"):
        return _NIL if value is None else _value(go_type[1:], value)
    if go_type in _SPECIAL:
        return _SPECIAL[go_type](value)
    go_type = _types().named.get(go_type, go_type)
    if go_type.startswith("[]"):
        return _slice(go_type[2:], value)
    if go_type.startswith("map["):
        return _map(go_type.partition("]")[2], value)
    members = _types().structs.get(go_type)
    if members is not None:
        return _struct(members, value or {})
    return _scalar(go_type, value)


def _struct(members: Sequence[tuple[str, str, str]], value: Mapping[str, Any]) -> str:
    shown = (
        f"{name}:{_with_type(go_type, value.get(json) if json else value)}" for name, go_type, json in members
    )
    return "{" + " ".join(shown) + "}"


def _slice(go_type: str, value: Sequence[Any] | None) -> str:
    return f"[{' '.join(_value(go_type, entry) for entry in value)}]" if value else _NIL


def _map(go_type: str, value: Mapping[str, Any] | None) -> str:
    if not value:
        return _NIL
    return f"map[{' '.join(f'{key}:{_value(go_type, value[key])}' for key in sorted(value))}]"


def _scalar(go_type: str, value: Any) -> str:
    if value is None:
        return _ZEROS.get(go_type, "0")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _time(value: Any) -> str:
    del value  # a template has no times of its own
    return "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


def _quantity(text: Any) -> str:
    amount = int64_amount(str(text or "0"))
    number = f"value:(int64){amount.value} scale:(resource.Scale){amount.scale}"
    exact = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"
    spelt = f"s:(string){amount.text} Format:(resource.Format){amount.format}"
    return f"{{i:(resource.int64Amount){{{number}}} {exact} {spelt}}}"


def _int_or_string(value: Any) -> str:
    number, text = (0, value) if isinstance(value, str) else (value or 0, "")
    kind = int(isinstance(value, str))
    return f"{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}"


_SPECIAL: Final[Mapping[str, Callable[[Any], str]]] = {
    "apimachinery.pkg.apis.meta.v1.Time": _time,
    "apimachinery.pkg.api.resource.Quantity": _quantity,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}
