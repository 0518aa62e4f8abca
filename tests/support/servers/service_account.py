"""A service account that may do what `manifests rbac` prints, and no more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import yaml

from handloop.testing.eventually import eventually as until
from support.rigs.program import ROOT
from support.servers.cluster import NAMESPACES, RBAC, Cluster, Object, token_kubeconfig

NAME: Final = "handloop"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@contextmanager
def service_account(cluster: Cluster, folder: Path, *flags: str) -> Iterator[Path]:
    """Its kubeconfig; flags are those of `manifests rbac`. The roles go at the end."""
    with ExitStack() as stack:
        create_account(cluster, NAME)
        for role in printed_roles(*flags):
            stack.enter_context(bound(cluster, role, NAME))
        token = token_of(cluster, NAME)
        yield token_kubeconfig(cluster, token, folder / "account.kubeconfig")


def printed_roles(*flags: str) -> list[Object]:
    """What `manifests rbac` prints."""
    command = [sys.executable, "-m", "controller", "manifests", "rbac", *flags]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    return list(yaml.safe_load_all(printed.stdout))


def create_account(cluster: Cluster, name: str) -> None:
    """An account without any rights."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    cluster.create(f"{NAMESPACES}/{cluster.namespace}/serviceaccounts", account)


def token_of(cluster: Cluster, account: str) -> str:
    """A new token of an account."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"{NAMESPACES}/{cluster.namespace}/serviceaccounts/{account}/token"
    token: str = cluster.create(path, request)["status"]["token"]
    return token


def role_name(cluster: Cluster, name: str) -> str:
    """What a role is called here, so that several clusters' tests can share a server."""
    return f"{name}-{cluster.namespace}"


@contextmanager
def bound(cluster: Cluster, role: Object, account: str) -> Iterator[None]:
    """
    A role, under a name of our own, given to an account for as long as the context lasts.

    It is in force: the server's authorizer reads roles from caches of its own, a moment after the write.
    """
    kind, namespace = role["kind"], role["metadata"].get("namespace", "")
    where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    roles, bindings = f"{where}/{kind.lower()}s", f"{where}/{kind.lower()}bindings"
    metadata = {"name": role_name(cluster, role["metadata"]["name"])}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, **metadata},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": cluster.namespace}],
    }
    with ExitStack() as stack:
        cluster.create(roles, role | {"metadata": metadata})
        stack.callback(cluster.delete, roles, metadata["name"])
        cluster.create(bindings, binding)
        stack.callback(cluster.delete, bindings, metadata["name"])
        until(lambda: in_force(cluster, role, account), f"{kind} in force", seconds=cluster.seconds)
        yield


def in_force(cluster: Cluster, role: Object, account: str) -> bool:
    """Whether an account may do what each rule of a role begins with."""
    user = f"system:serviceaccount:{cluster.namespace}:{account}"
    where = role["metadata"].get("namespace", "")
    specs = ({"user": user, **asked_for(rule, where)} for rule in role["rules"])
    return all(cluster.create(REVIEWS, {"spec": spec})["status"]["allowed"] for spec in specs)


def asked_for(rule: Object, namespace: str) -> Object:
    """The attributes of a request that is the first that a rule allows; namespace "" = everywhere."""
    (verb, *_) = rule["verbs"]
    if paths := rule.get("nonResourceURLs"):
        return {"nonResourceAttributes": {"verb": verb, "path": paths[0]}}
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {"verb": verb, "group": rule["apiGroups"][0], "namespace": namespace}
    attributes |= {"resource": resource, "subresource": subresource}
    return {"resourceAttributes": attributes | {"name": rule.get("resourceNames", [""])[0]}}
