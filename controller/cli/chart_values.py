"""The values of an operator's chart, each with its default, its description and its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handloop.apis.grammar.yaml_text import to_yaml

_DNS: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_TEXT: Final = {"type": "string"}
_DIGEST_OR_NONE: Final = {"type": "string", "pattern": "^([a-z0-9]+([+._-][a-z0-9]+)*:[0-9a-fA-F]{32,})?$"}
_NAME_OR_NONE: Final = {"type": "string", "pattern": f"{_DNS}|^$", "maxLength": 63}
_OBJECT: Final = {"type": "object"}
_OBJECTS: Final = {"type": "array", "items": _OBJECT}
_ENABLED: Final = {"type": "boolean"}


class Value(NamedTuple):
    """A chart's value. Args: told is its help text; schema is a JSON Schema; parts are fields, by name."""

    default: Any
    told: str
    schema: Mapping[str, Any] = {}
    parts: Mapping[str, Value] = {}


def values_of(pod: Mapping[str, Any], defaults: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Value]:
    """
    Return a chart's values. Their defaults are the settings of the operator's Deployment.

    Args: pod is the Deployment's pod spec; defaults are the defaults of replicas, leaderElection, shards,
    namespaces and the image; parts names the choices that apply to this operator, such as webhook and
    monitoring.
    """
    container = pod["containers"][0]
    text, text_or_number = {"type": "string"}, {"type": ["string", "integer"]}
    image = {
        "repository": Value(defaults["repository"], "where the image is", text),
        "tag": Value(defaults["tag"], "if empty, the chart's appVersion", text_or_number),
        "digest": Value(defaults["digest"], "sha256:...; if set, the tag is ignored", _DIGEST_OR_NONE),
        "pullPolicy": Value(
            container.get("imagePullPolicy", "IfNotPresent"),
            "Always, IfNotPresent or Never",
            {"enum": ["Always", "IfNotPresent", "Never"]},
        ),
    }
    certificate = "the TLS Secret with the certificate of {}; if empty, the program creates its own"
    choices = {
        "podDisruptionBudget": _switch("evict only one pod at a time when nodes are drained", default=True),
        "networkPolicy": _switch("allow only the program's ports and its connections to the API server"),
        "monitoring": _switch("a ServiceMonitor, alerts and a dashboard; needs the Prometheus operator"),
        "userRoles": _switch("roles for users, aggregated to the roles view, edit and admin", default=True),
        "metrics": _parts(certificateSecret=Value("", certificate.format("/metrics"), _NAME_OR_NONE)),
        "webhook": _parts(certificateSecret=Value("", certificate.format("the webhook"), _NAME_OR_NONE)),
    }
    return {
        "fullnameOverride": Value(
            "", "the name of all objects; if empty, the release's name", {**_NAME_OR_NONE, "maxLength": 42}
        ),
        "replicas": Value(
            defaults["replicas"],
            "number of pods; with leaderElection only one works, with shards all work",
            _at_least(0),
        ),
        "image": _parts(**image),
        "imagePullSecrets": Value(pod.get("imagePullSecrets", []), "as in a pod", _OBJECTS),
        "leaderElection": Value(
            defaults["leaderElection"], "let only one pod work at a time; not needed with shards", _ENABLED
        ),
        "shards": Value(
            defaults["shards"],
            "number of slots (parts of the work) that the pods share, such as 16; 0 disables shards",
            _at_least(0),
        ),
        "namespaces": Value(
            defaults["namespaces"],
            "the only namespaces to watch and to create Roles in; if empty, all",
            {
                "type": "array",
                "uniqueItems": True,
                "items": {"type": "string", "pattern": _DNS, "maxLength": 63},
            },
        ),
        "args": Value([], "additional flags of the program", {"type": "array", "items": _TEXT}),
        "env": Value([], "additional environment variables, as in a container", _OBJECTS),
        "resources": Value(container.get("resources", {}), "as in a container", _OBJECT),
        "podAnnotations": Value({}, "of the pods", _OBJECT),
        "podLabels": Value({}, "of the pods", _OBJECT),
        "serviceAccount": _parts(annotations=Value({}, "such as those for a cloud identity", _OBJECT)),
        "priorityClassName": Value(pod.get("priorityClassName", ""), "of the pods", _NAME_OR_NONE),
        "topologySpreadConstraints": Value(
            [_without_selector(each) for each in pod.get("topologySpreadConstraints", [])],
            "as in a pod; the default labelSelector selects the chart's own pods",
            _OBJECTS,
        ),
        "nodeSelector": Value(pod.get("nodeSelector", {}), "as in a pod", _OBJECT),
        "tolerations": Value(pod.get("tolerations", []), "as in a pod", _OBJECTS),
        "affinity": Value(pod.get("affinity", {}), "as in a pod", _OBJECT),
        **{name: value for name, value in choices.items() if name in parts},
    }


def definitions_values(name: str) -> dict[str, Value]:
    """Return the values of the chart with an operator's CRDs."""
    return {
        "keep": Value(True, "keep the CRDs, and so all objects, after helm uninstall", _ENABLED),
        "operator": _parts(
            name=Value(
                name, "the release of the operator, which serves the conversion webhook", _NAME_OR_NONE
            ),
            namespace=Value("", "its namespace; if empty, this release's", _NAME_OR_NONE),
        ),
    }


def values_file(values: Mapping[str, Value], header: str) -> str:
    """Return `values.yaml`: the defaults, each with its description above it."""
    return header + "\n".join(_told(name, value) for name, value in values.items())


def values_schema(values: Mapping[str, Value]) -> str:
    """Return `values.schema.json`. Only a parent chart's `global` and `enabled` are also allowed."""
    schema = _schema(Value(None, "", {}, values))
    schema["properties"] |= {"global": _OBJECT, "enabled": _ENABLED}
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, indent=2) + "\n"


def _told(name: str, value: Value) -> str:
    if not value.parts:
        return f"# {value.told}\n{to_yaml({name: value.default}, in_ascii=False)}"
    inner = "".join(_told(each, part) for each, part in value.parts.items())
    return f"{name}:\n" + "".join(f"  {line}\n" for line in inner.splitlines())


def _schema(value: Value) -> dict[str, Any]:
    if not value.parts:
        return {"description": value.told, **value.schema}
    properties = {name: _schema(part) for name, part in value.parts.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _parts(**parts: Value) -> Value:
    return Value(None, "", {}, parts)


def _switch(told: str, *, default: bool = False) -> Value:
    return _parts(enabled=Value(default, told, _ENABLED))


def _at_least(minimum: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum}


def _without_selector(constraint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a constraint without its labelSelector, because the chart's template selects its own pods."""
    return {name: value for name, value in constraint.items() if name != "labelSelector"}
