"""What a person can do about a list or watch that fails."""

from __future__ import annotations

from handloop.apis.resource import Resource
from handloop.client.errors import Forbidden, NotFound, Unauthorized
from handloop.informers.reflecting.failure_cause import cause_of


def fix_for(error: Exception, resource: Resource, namespace: str = "") -> str:
    """
    What a person can do about a failed list or watch; "" where waiting is all there is.

    Args: namespace "" = all of them.
    """
    cause = cause_of(error)
    if isinstance(cause, NotFound):
        return (
            f"the server has no resource {resource.group_resource}/{resource.version}: install its "
            "CustomResourceDefinition, `python -m controller manifests crd | kubectl apply -f -`; "
            "watching starts by itself when it appears"
        )
    if isinstance(cause, Forbidden):
        where = f'in namespace "{namespace}"' if namespace else "at cluster scope"
        scope = f" -n {namespace}" if namespace else ""
        return (
            f"allow list and watch of {resource.group_resource} {where}, "
            f"`python -m controller manifests rbac{scope} | kubectl apply -f -`; "
            "watching starts by itself when it is allowed"
        )
    if isinstance(cause, Unauthorized):
        return (
            "the server does not accept these credentials: log in again, or check the user in the kubeconfig"
        )
    return ""
