"""A kind of two versions that functions join: `spec.size` of v1beta1 is `spec.replicas` of v1."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind


class OldSpec(APIStruct):
    """Before the rename."""

    size: int = 1


class OldSite(Kind, group="example.org", version="v1beta1", kind="Site"):
    """The first."""

    spec: OldSpec


class Spec(APIStruct):
    """After it."""

    replicas: int = 1


class Site(Kind, group="example.org", version="v1", previous=OldSite):
    """The newest."""

    spec: Spec

    @classmethod
    def from_previous(cls, old: OldSite) -> Site:
        """Renames."""
        return cls(metadata=old.metadata, spec=Spec(replicas=old.spec.size))

    def to_previous(self) -> OldSite:
        """Renames back."""
        return OldSite(metadata=self.metadata, spec=OldSpec(size=self.spec.replicas))
