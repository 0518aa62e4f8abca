"""`manifests crd|rbac`: what has to be in the cluster, printed from the types and the declared access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import yaml

from apis.crd import custom_resource_definition
from apis.samplecontroller_v1alpha1 import Foo
from controller.access import FOO_ACCESS
from controller.roles import roles

HEADER: Final = "# made by `python -m controller manifests {what}`; do not edit\n"
ROLE_NAME: Final = "handloop"


def manifests(what: str, *, namespace: str = "") -> str:
    """
    YAML of the CRDs or of the RBAC role.

    Args: what is crd or rbac; with a namespace the role is a Role there, else a ClusterRole.
    """
    documents = {
        "crd": lambda: [custom_resource_definition(Foo)],
        "rbac": lambda: roles(ROLE_NAME, FOO_ACCESS, namespaces=(namespace,) if namespace else ()),
    }[what]()
    return HEADER.format(what=what) + _yaml(documents)


def _yaml(documents: Iterable[dict[str, Any]]) -> str:
    return "---\n".join(yaml.safe_dump(document, sort_keys=False, width=110) for document in documents)
