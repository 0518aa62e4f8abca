"""`manifests crd|rbac`: the CRDs and roles that the cluster needs, from the types and the declared access."""

from __future__ import annotations

from typing import Final

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
    if options.what == "crd":
        documents = [custom_resource_definition(kind) for kind in kinds(options.controllers)]
    else:
        documents = roles(declared_access(options), namespaces=options.namespaces)
    texts = [yaml.safe_dump(document, sort_keys=False, width=110) for document in documents]
    return HEADER.format(what=options.what) + "---\n".join(texts)
