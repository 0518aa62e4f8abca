"""
LimitRange admission: sets defaults for containers, and checks the bounds of containers, pods and claims.

Follows: kubernetes plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from handloop_sandbox.cluster.pod_resources import Amounts, Resources, of_pod
from handloop_sandbox.cluster.storage_protection import CLAIMS
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

_RANGES: Final = GroupResource("", "limitranges")
_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_CONTAINERS: Final = {"containers": "container", "initContainers": "init container"}


def with_defaults(call: Call, pod: Object) -> Object:
    """Return a new pod with the namespace's default requests and limits. An annotation lists them."""
    for item in _items(call, "Container"):
        defaults = Resources(item.get("defaultRequest") or {}, item.get("default") or {})
        told: list[str] = []
        spec = dict(pod["spec"])
        for member, noun in _CONTAINERS.items():
            if spec.get(member):
                spec[member] = [_completed(entry, defaults, noun, told) for entry in spec[member]]
        if told:
            annotations = pod["metadata"].get("annotations") or {}
            text = f"LimitRanger plugin set: {'; '.join(told)}"
            pod = shallow_metadata({**pod, "spec": spec}, annotations={**annotations, _ANNOTATION: text})
    return pod


def _items(call: Call, kind: str) -> Iterator[Object]:
    for found in call.state.list(_RANGES, call.namespace):
        yield from (item for item in found["spec"].get("limits") or () if item.get("type") == kind)


def _completed(container: Object, defaults: Resources, noun: str, told: list[str]) -> Object:
    own = Resources.of(container)
    added = {}
    for member, mine, usual in zip(own._fields, own, defaults, strict=True):
        if missing := sorted(set(usual) - set(mine)):
            told.append(
                f"{', '.join(missing)} {member.removesuffix('s')} for {noun} {container.get('name', '')}"
            )
            added[member] = {**mine, **{name: usual[name] for name in missing}}
    if not added:
        return container
    return {**container, "resources": {**(container.get("resources") or {}), **added}}


def check(call: Call, obj: Object, old: Object | None = None) -> None:
    """Refuse (403) a new pod or a claim that is outside the bounds of its namespace's LimitRanges."""
    problems: list[str] = []
    if call.path.subresource or (old is not None and call.collection == PODS):
        return
    if call.collection == CLAIMS:
        for item in _items(call, "PersistentVolumeClaim"):
            problems += _claim_problems(item, Resources.of(obj["spec"]).requests)
    elif call.collection == PODS:
        parts = [entry for member in _CONTAINERS for entry in obj["spec"].get(member) or ()]
        for item in _items(call, "Container"):
            problems += [text for entry in parts for text in _problems(item, Resources.of(entry))]
        for item in _items(call, "Pod"):
            problems += _problems(item, of_pod(obj["spec"]))
    if texts := list(dict.fromkeys(problems)):
        raise call.refused(obj, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _problems(item: Object, own: Resources) -> Iterator[str]:
    kind = item["type"]
    for name, bound in _sorted(item.get("min")):
        yield from _below(f"minimum {name} usage per {kind} is {bound}", name, bound, own)
    for name, bound in _sorted(item.get("max")):
        yield from _above(f"maximum {name} usage per {kind} is {bound}", name, bound, own)
    for name, bound in _sorted(item.get("maxLimitRequestRatio")):
        told = f"{name} max limit to request ratio per {kind} is {bound}"
        yield from _ratio(told, name, bound, own)


def _sorted(amounts: Amounts | None) -> Iterable[tuple[str, str]]:
    return sorted((amounts or {}).items())


def _below(told: str, name: str, bound: str, own: Resources) -> Iterator[str]:
    if name not in own.requests:
        yield f"{told}.  No request is specified"
    elif parse_quantity(own.requests[name]) < parse_quantity(bound):
        yield f"{told}, but request is {own.requests[name]}"
    elif name in own.limits and parse_quantity(own.limits[name]) < parse_quantity(bound):
        yield f"{told}, but limit is {own.limits[name]}"


def _above(told: str, name: str, bound: str, own: Resources) -> Iterator[str]:
    if name not in own.limits:
        yield f"{told}.  No limit is specified"
    elif parse_quantity(own.limits[name]) > parse_quantity(bound):
        yield f"{told}, but limit is {own.limits[name]}"
    elif name in own.requests and parse_quantity(own.requests[name]) > parse_quantity(bound):
        yield f"{told}, but request is {own.requests[name]}"


def _ratio(told: str, name: str, bound: str, own: Resources) -> Iterator[str]:
    request, limit = (parse_quantity(amounts.get(name, "0")) for amounts in own)
    if not request or not limit:
        missing = "limit" if request else "request"
        yield f"{told}, but no {missing} is specified or {missing} is 0"
    elif Fraction(limit, request) > parse_quantity(bound):
        yield f"{told}, but provided ratio is {float(limit / request):f}"


def _claim_problems(item: Object, requests: Amounts) -> Iterator[str]:
    """Yield what is wrong with a claim's requests. Its limits are not checked."""
    for member, word, sign in (("min", "minimum", 1), ("max", "maximum", -1)):
        for name, bound in _sorted(item.get(member)):
            told = f"{word} {name} usage per {item['type']} is {bound}"
            if name not in requests:
                yield f"{told}.  No request is specified"
            elif sign * (parse_quantity(requests[name]) - parse_quantity(bound)) < 0:
                yield f"{told}, but request is {requests[name]}"
