"""`manifests crd|rbac`: what the cluster must have, printed from the types and the declared access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.controller.cli.controllers import declared_access, kinds
from handloop.controller.cli.options import Options
from handloop.controller.runtime.rbac.roles import roles

HEADER: Final = "# made by `python -m controller manifests {what}`; do not edit\n"


def manifests(options: Options) -> str:
    """
    YAML of the CRDs of the chosen controllers, or of the roles that they need.

    With a namespace the roles are Roles in it, except for kinds without a namespace; else ClusterRoles.
    """
    documents = {"crd": _definitions, "rbac": _roles}[options.what](options)
    return HEADER.format(what=options.what) + _yaml(documents)


def _definitions(options: Options) -> list[dict[str, Any]]:
    return [custom_resource_definition(kind) for kind in kinds(options.controllers)]


def _roles(options: Options) -> list[dict[str, Any]]:
    return roles(declared_access(options), namespaces=options.namespaces)


def _yaml(documents: Iterable[dict[str, Any]]) -> str:
    return "---\n".join(yaml.safe_dump(document, sort_keys=False, width=110) for document in documents)
