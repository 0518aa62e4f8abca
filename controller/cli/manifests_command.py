"""`crd` and `rbac`: the CRDs and roles that the cluster needs, from the types and the declared access."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.controller.cli.declarations import declared_access, declared_kinds
from handloop.controller.cli.options import Options
from handloop.controller.runtime.rbac.roles import roles

HEADER: Final = "# made by `{generator} {what}`; do not edit\n"
_LARGE: Final = 200_000


class _Dumper(yaml.SafeDumper):
    """YAML with a list of words in one line."""


def _list(dumper: yaml.SafeDumper, values: list[object]) -> yaml.SequenceNode:
    words = all(isinstance(value, str) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=words)


_Dumper.add_representer(list, _list)


def large_definitions(options: Options) -> Iterator[str]:
    """A warning for each CRD that `kubectl apply`, which keeps its JSON in an annotation, soon refuses."""
    for kind in declared_kinds(options) if options.what == "crd" else ():
        size = len(json.dumps(custom_resource_definition(kind), separators=(",", ":")))
        if size >= _LARGE:
            what = f"the CRD of {kind.__name__} has {size // 1000} kB as JSON, and kubectl apply takes 262 kB"
            fix = "Annotated[..., ANY_FIELDS] at its largest struct, or kubectl apply --server-side"
            yield f"warning: {what}\n  fix: {fix}\n"


def manifests(options: Options) -> str:
    """
    YAML of the CRDs of the chosen controllers, or of the roles that they need.

    With a namespace the roles are Roles in it, except for kinds without a namespace; else ClusterRoles.
    """
    if options.what == "crd":
        documents = [custom_resource_definition(kind) for kind in declared_kinds(options)]
    else:
        access = declared_access(options)
        documents = roles(access, namespaces=options.namespaces, name=options.operator.name)
    texts = [yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110) for document in documents]
    generator = options.operator.generator or options.operator.name
    return HEADER.format(generator=generator, what=options.what) + "---\n".join(texts)
