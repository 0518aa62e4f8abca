"""Requests a server's version, and the resources that it serves in a group and version."""

from __future__ import annotations

import base64
import hashlib
from difflib import get_close_matches
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from handloop.apis.declaration import Scope
from handloop.apis.decoders import decoder_of
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.json_text import null_as_absent, read
from handloop.client.errors import ClientError, Forbidden, NoKindMatch, NotFound
from handloop.client.rest_client import Call, RESTClient

A = TypeVar("A")


class Version(msgspec.Struct, frozen=True, rename="camel"):
    """The server's version. git_version has the usual form, such as `v1.36.3`."""

    major: str = ""
    minor: str = ""
    git_version: str = ""
    platform: str = ""

    def __str__(self) -> str:
        return self.git_version or f"v{self.major}.{self.minor}"


class ServedResource(msgspec.Struct, frozen=True, rename="camel"):
    """A served resource, or a subresource with a name such as `plural/status`, and its verbs."""

    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    storage_version_hash: str = ""


class GroupResources(msgspec.Struct, frozen=True):
    """
    The resources that one version of a group serves.

    resources also holds the subresources. Their names have the form `plural/subresource`.
    """

    resources: tuple[ServedResource, ...] = ()

    def find(self, plural: str, subresource: str = "") -> ServedResource | None:
        """Return the resource or subresource of that name, or None."""
        name = f"{plural}/{subresource}" if subresource else plural
        return next((resource for resource in self.resources if resource.name == name), None)

    def subresources(self, plural: str) -> frozenset[str]:
        """Return the names of a resource's subresources, such as status and scale."""
        names = (resource.name.partition("/") for resource in self.resources)
        return frozenset(subresource for name, _, subresource in names if name == plural and subresource)


class _GroupVersion(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    versions: tuple[_GroupVersion, ...] = ()
    preferred_version: _GroupVersion = _GroupVersion()


class _Groups(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class Discovery:
    """
    Requests a server's version and resources. Nothing is cached, because CRDs change the resources.

    Every method can raise APIError and TransportError. If a response is invalid, it raises DecodeError.
    Threads: any thread can use a Discovery.
    """

    def __init__(self, rest: RESTClient) -> None:
        self._rest = rest

    def version(self) -> Version:
        """Return the server's version."""
        return self._get("/version", Version)

    def resources(self, group: str, version: str) -> GroupResources | None:
        """Return the resources of a group in a version, or None if the group does not serve that version."""
        root = f"/apis/{quote(group, safe='')}" if group else "/api"
        return self._get_or_none(f"{root}/{quote(version, safe='')}", GroupResources)

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the versions that a named group serves, preferred first; () if the group does not exist."""
        found = self._get_or_none(f"/apis/{quote(group, safe='')}", _Group)
        if found is None:
            return ()
        names = [found.preferred_version.version, *(entry.version for entry in found.versions)]
        return tuple(dict.fromkeys(name for name in names if name))

    def groups(self) -> dict[str, str]:
        """Return the preferred version of each named group."""
        return {group.name: group.preferred_version.version for group in self._get("/apis", _Groups).groups}

    def nearest(self, resource: Resource) -> str:
        """
        Return the served resource with the most similar name, such as `things.m.example.com/v1`.

        The resource has either the same name in a similar group, or a similar name in the same group and
        version. The result is "" if no resource is similar or the server does not answer.
        """
        try:
            return self._nearest(resource)
        except ClientError:
            return ""

    def _nearest(self, resource: Resource) -> str:
        group, version, plural = resource.group, resource.version, resource.plural
        served = self.resources(group, version)
        if served is not None:
            names = [one.name for one in served.resources if "/" not in one.name]
            near = get_close_matches(plural, names, n=1)
            return f"{near[0]}{f'.{group}' if group else ''}/{version}" if near else ""
        groups = self.groups()
        for name in get_close_matches(group, groups):
            found = self.resources(name, groups[name])
            if found is not None and found.find(plural) is not None:
                return f"{plural}.{name}/{groups[name]}"
        return ""

    def kind(self, api_version: str, kind: str) -> type[Unstructured]:
        """
        Return an untyped class for a kind, with the server's plural and scope.

        Raises: LookupError if the server does not have the kind.
        """
        group, _, version = api_version.rpartition("/")
        served = self.resources(group, version)
        for one in served.resources if served is not None else ():
            if one.kind == kind and "/" not in one.name:
                scope: Scope = "Namespaced" if one.namespaced else "Cluster"
                return Unstructured.of(api_version, kind, plural=one.name, scope=scope)
        raise LookupError(f"the server has no kind {kind} in {api_version}")

    def withholds(self, resource: Resource) -> bool:
        """Return whether the CRD lists the version as not served; False if reading CRDs is forbidden."""
        versions = self._definition(resource).get("spec", {}).get("versions", ())
        return any(one["name"] == resource.version and not one["served"] for one in versions)

    def stored_versions(self, resource: Resource) -> tuple[str, ...]:
        """Return the versions in which the CRD's objects can be stored; () if reading CRDs is forbidden."""
        return tuple(self._definition(resource).get("status", {}).get("storedVersions") or ())

    def conversion_strategy(self, resource: Resource) -> str:
        """Return the CRD's conversion strategy, `None` or `Webhook`; "" if reading CRDs is forbidden."""
        spec = self._definition(resource).get("spec")
        return "" if spec is None else str((spec.get("conversion") or {}).get("strategy") or "None")

    def storage_version(self, resource: Resource, storage_version_hash: str) -> str:
        """
        Return the version in which a resource's objects are stored.

        The result is "" if the hash is empty, or if the server does not serve the stored version. If the hash
        is that of the version in `resource`, no request is needed.
        Args: storage_version_hash is the hash in the resource's discovery document.
        Follows: apiserver pkg/endpoints/discovery/storageversionhash.go.
        """
        if not storage_version_hash:
            return ""
        if storage_hash(resource) == storage_version_hash:
            return resource.version
        others = (resource._replace(version=version) for version in self.versions(resource.group))
        return next((each.version for each in others if storage_hash(each) == storage_version_hash), "")

    def _definition(self, resource: Resource) -> dict[str, Any]:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{quote(resource.group_resource)}"
        try:
            return self._get_or_none(path, dict[str, Any]) or {}
        except Forbidden:
            return {}

    def _get(self, path: str, kind: type[A]) -> A:
        body = self._rest.send(Call("get", "GET", path)).body
        return read(null_as_absent(decoder_of(kind).decode), body, f"not what {path} should answer")

    def _get_or_none(self, path: str, kind: type[A]) -> A | None:
        try:
            return self._get(path, kind)
        except (NoKindMatch, NotFound):
            return None


def storage_hash(resource: Resource) -> str:
    """Return the hash that discovery publishes for a resource whose objects are stored in this version."""
    text = f"{resource.group}/{resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
