"""
The ClusterServiceVersion of an operator, which tells the Operator Lifecycle Manager (OLM) how to install it.

Follows: operators.coreos.com/v1alpha1; operator-sdk's `generate bundle` for the fields and annotations. OLM
creates a Role from `permissions` in each namespace that the operator watches, or a ClusterRole if it watches
all: pkg/controller/operators/olm/operatorgroup.go @992bb0977.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from handloop.apis.core_v1 import Event
from handloop.apis.crd import CONVERT_PATH, custom_resource_definition
from handloop.apis.declaration import is_built_in
from handloop.apis.versions import is_converted
from handloop.controller.cli.declarations import declared_access, declared_kinds
from handloop.controller.cli.operator import Operator, Setup
from handloop.controller.cli.options import FLAGS, Options
from handloop.controller.cli.problems import OLDEST
from handloop.controller.cli.project_files import ProjectTable
from handloop.controller.cli.replicas import replicas_of
from handloop.controller.cli.webhook import IN_CLUSTER, any_is_converted
from handloop.controller.runtime.rbac.roles import roles

API_VERSION: Final = "operators.coreos.com/v1alpha1"
_TARGETS: Final = "metadata.annotations['olm.targetNamespaces']"
"""The pod annotation in which OLM lists the namespaces to watch, such as `a,b`; "" means all."""
OLM_CERTIFICATES: Final = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where OLM mounts them
_WEBHOOK_PORT: Final = 443
_SOME_NAMESPACES: Final = ("OwnNamespace", "SingleNamespace", "MultiNamespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """
    One release of an operator. This module does not load or run the operator.

    Args: options are the options that its Deployment's container sets; deployment is the Deployment's
    manifest; version and replaces are semantic versions, and replaces is "" if it replaces no release;
    samples are sample manifests of its kinds.
    """

    options: Options
    deployment: Mapping[str, Any]
    image: str
    version: str
    replaces: str
    project: ProjectTable
    samples: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        """The operator's name, which is also the name of its package in a catalog."""
        return self.options.operator.name

    @property
    def maturity(self) -> str:
        """Return `alpha` for 0.x versions and pre-releases, otherwise `stable`."""
        return "alpha" if self.version.startswith("0.") or "-" in self.version else "stable"


def namespaces_variable(operator: Operator) -> str:
    """Return the environment variable of the flag --namespace."""
    return FLAGS["namespace"].variable("namespace", operator)


def olm_service(deployment: str) -> str:
    """Return the name of the Service that OLM creates for a Deployment's webhook."""
    return f"{deployment.replace('.', '-')}-service"


def cluster_service_version(release: Release) -> dict[str, Any]:
    """Return a release's manifest. Equal releases always give the same fields in the same order."""
    kinds = declared_kinds(release.options)
    spec = {
        "displayName": release.name.replace("-", " ").title(),
        "description": _description(release, kinds),
        "version": release.version,
        "maturity": release.maturity,
        "minKubeVersion": "{}.{}.0".format(*OLDEST),
        "provider": {"name": _provider(release)},
        "keywords": list(release.project.keywords) or [release.name],
        "links": [{"name": name, "url": url} for name, url in release.project.urls.items()],
        "maintainers": [person for person in _people(release) if {"name", "email"} <= set(person)],
        "installModes": _install_modes(release.options, kinds),
        "install": {"strategy": "deployment", "spec": _install(release)},
        "webhookdefinitions": list(_webhooks(release, kinds)),
        "customresourcedefinitions": {"owned": list(_owned(release.options.setups()))},
        "relatedImages": _images(_deployment_spec(release)["template"]["spec"]),
        "replaces": f"{release.name}.v{release.replaces}" if release.replaces else "",
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{release.name}.v{release.version}",
            # OLM replaces this with the namespace in which the operator is installed.
            "namespace": "placeholder",
            "annotations": {
                "alm-examples": json.dumps(_examples(release.samples), indent=2),
                "capabilities": "Basic Install",
                "containerImage": release.image,
            },
        },
        "spec": {name: value for name, value in spec.items() if value},
    }


def _description(release: Release, kinds: Sequence[type[Any]]) -> str:
    """Return Markdown: the project's description, and a list item for each kind."""
    first = release.project.description or f"The operator {release.name}."
    return "\n".join([first, "", *(f"* `{kind.resource.kind}`: {_told(kind)}" for kind in kinds)])


def _told(kind: type[Any]) -> str:
    """Return the description that a kind has in its CRD."""
    schema = custom_resource_definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    text: str = schema.get("description", "") or f"A {kind.resource.kind}."
    return text


def _people(release: Release) -> Sequence[dict[str, str]]:
    return release.project.maintainers or release.project.authors


def _provider(release: Release) -> str:
    named = (person["name"] for person in _people(release) if "name" in person)
    return next(named, release.name)


def _install_modes(options: Options, kinds: Sequence[type[Any]]) -> list[dict[str, Any]]:
    """
    Return the install modes. All are usually supported, because --namespace accepts one name, several or
    none.

    If a kind is cluster-scoped, or the replicas' mode needs all namespaces, only AllNamespaces is supported.
    The same applies if a kind has a conversion webhook: a CRD has one webhook for all namespaces, and OLM
    refuses other modes.
    """
    needs_all = replicas_of(options).needs_all_namespaces or any_is_converted(kinds)
    some = not needs_all and all(kind.resource.namespaced for kind in kinds)
    modes: list[dict[str, Any]] = [{"type": mode, "supported": some} for mode in _SOME_NAMESPACES]
    return [*modes, {"type": "AllNamespaces", "supported": True}]


def _install(release: Release) -> dict[str, Any]:
    """Return the Deployment and its ServiceAccount's roles. OLM chooses the roles' namespaces."""
    spec = _deployment_spec(release)
    account = spec["template"]["spec"].get("serviceAccountName", "default")
    access = declared_access(replace(release.options, leader_elect_resource_namespace=""))
    # Optional cluster-wide access is left out, because an installation for one namespace must not have it.
    made = roles([each for each in access if not each.optional], namespaces=("",), name=release.name)

    def rules(kind: str) -> list[dict[str, Any]]:
        found = [rule for role in made if role["kind"] == kind for rule in role["rules"]]
        return [{"serviceAccountName": account, "rules": found}] if found else []

    deployment = {"name": release.deployment["metadata"]["name"], "spec": spec}
    granted = {"clusterPermissions": rules("ClusterRole"), "permissions": rules("Role")}
    return {"deployments": [deployment]} | {name: entries for name, entries in granted.items() if entries}


def _webhooks(release: Release, kinds: Sequence[type[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the conversion webhook, if there is one. OLM creates its Service and its certificate."""
    converted = sorted(kind.resource.group_resource for kind in kinds if is_converted(kind))
    if converted:
        yield {
            "type": "ConversionWebhook",
            "generateName": f"{release.name}-conversion",
            "deploymentName": release.deployment["metadata"]["name"],
            "containerPort": _WEBHOOK_PORT,
            "targetPort": (release.options.webhook_bind_address or IN_CLUSTER).port,
            "webhookPath": CONVERT_PATH,
            "conversionCRDs": converted,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }


def _deployment_spec(release: Release) -> dict[str, Any]:
    """Return the Deployment's spec with the release's image and OLM's settings, such as its certificate."""
    spec: dict[str, Any] = copy.deepcopy(release.deployment["spec"])
    container = spec["template"]["spec"]["containers"][0]
    container["image"] = release.image
    options = release.options
    variable = namespaces_variable(options.operator)
    chosen = [{"name": variable, "valueFrom": {"fieldRef": {"fieldPath": _TARGETS}}}]
    chosen += [
        {"name": FLAGS[name].variable(name, options.operator), "value": getattr(options, name)}
        for name in ("webhook_cert_dir", "webhook_service")
        if any_is_converted(declared_kinds(options))
    ]
    names = {entry["name"] for entry in chosen}
    container["env"] = [
        *(entry for entry in (container.get("env") or ()) if entry["name"] not in names),
        *chosen,
    ]
    return spec


def _images(pod: Mapping[str, Any]) -> list[dict[str, str]]:
    containers = [*(pod.get("initContainers") or ()), *pod["containers"]]
    return [{"name": one["name"], "image": one["image"]} for one in containers if one.get("image")]


def _owned(setups: Sequence[Setup]) -> Iterator[dict[str, Any]]:
    """Yield a description of each CRD, with the kinds of the objects that its controller creates."""
    for setup in setups:
        created = dict.fromkeys(
            entry.resource
            for entry in setup.access
            if "create" in entry.verbs and not entry.subresource and entry.resource != Event.resource
        )
        for kind in setup.kinds:
            yield {
                "name": kind.resource.group_resource,
                "kind": kind.resource.kind,
                "version": kind.resource.version,
                "displayName": kind.resource.kind,
                "description": _told(kind),
                "resources": [
                    {
                        "name": "" if is_built_in(resource.group) else resource.group_resource,
                        "kind": resource.kind,
                        "version": resource.version,
                    }
                    for resource in created
                ],
            }


def _examples(samples: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the samples without their namespace, which the user chooses when creating them."""
    return [
        {**sample, "metadata": {k: v for k, v in sample["metadata"].items() if k != "namespace"}}
        for sample in samples
    ]
