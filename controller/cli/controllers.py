"""The controllers of this program: their kinds, their needs of a cluster, the fields that caches keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import PodTemplateSpec
from handloop.apis.meta import EMPTY_MAP, Kind, controller_of
from handloop.controller.cli.options import Options
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.access import MYAPP_ACCESS
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.election.lease_access import leader_election_access
from handloop.controller.runtime.rbac.access import Access, merged
from handloop.controller.runtime.serving.access import METRICS_AUTH_ACCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """
    One controller, as far as it is known without loading its code.

    Args: kind is the kind that it reconciles, which needs a CRD; sample is a manifest with such an object.
    """

    name: str
    kind: type[Kind]
    access: tuple[Access, ...]
    sample: str


CONTROLLERS: Final[Mapping[str, Setup]] = {
    "foo": Setup(name="foo", kind=Foo, access=FOO_ACCESS, sample="manifests/samples/foo.yaml"),
    "myapp": Setup(name="myapp", kind=MyApp, access=MYAPP_ACCESS, sample="manifests/samples/myapp.yaml"),
}


def setups(names: Sequence[str]) -> tuple[Setup, ...]:
    """The chosen ones."""
    return tuple(CONTROLLERS[name] for name in names)


def kinds(names: Sequence[str]) -> tuple[type[Kind], ...]:
    """The kinds that need a CRD."""
    return tuple(setup.kind for setup in setups(names))


def declared_access(options: Options) -> tuple[Access, ...]:
    """All access that the program will use. The lease is in "" while its namespace is not known."""
    lease = leader_election_access(
        options.leader_elect_resource_name, options.leader_elect_resource_namespace
    )
    return (
        *merged(entry for setup in setups(options.controllers) for entry in setup.access),
        *(lease if options.leader_elect else ()),
        *(METRICS_AUTH_ACCESS if options.metrics_auth else ()),
    )


_MYAPP: Final = (MyApp.resource.group, MyApp.resource.kind)
_NO_TEMPLATE: Final = PodTemplateSpec()


def cached_fields(obj: Any) -> Any:
    """
    The transform of the shared informers: the fields of an object that the caches keep. Pure and idempotent.

    Most Deployments of a cluster belong neither to a Foo nor to a MyApp. For these, and for those that Foos
    own, the owner and the replicas, wanted and available, are enough. Pod template, conditions and
    annotations, with the copy that kubectl apply leaves there, are more than half of a Deployment in memory.

    Other kinds, and Deployments that a MyApp controls, are kept whole.
    """
    if obj.__class__ is not Deployment:
        return obj
    owner = controller_of(obj)
    if owner is not None and (owner.api_version.partition("/")[0], owner.kind) == _MYAPP:
        return obj
    metadata, spec, status = obj.metadata, obj.spec, obj.status
    if spec.template is _NO_TEMPLATE and not metadata.annotations and not status.conditions:
        return obj
    return replace(
        obj,
        metadata=replace(metadata, annotations=EMPTY_MAP),
        spec=replace(spec, template=_NO_TEMPLATE),
        status=replace(status, conditions=()),
    )
