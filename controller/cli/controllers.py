"""The controllers of this program: what each is about, and what it needs of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from handloop.apis.meta import Kind
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
    One controller, as far as it is known without its code.

    Args: kind is the one it is about, which needs a CRD; sample is a manifest with one of it.
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
    """All that will be asked of the API server. The lease is in "" while its namespace is not known."""
    lease = leader_election_access(
        options.leader_elect_resource_name, options.leader_elect_resource_namespace
    )
    return (
        *merged(entry for setup in setups(options.controllers) for entry in setup.access),
        *(lease if options.leader_elect else ()),
        *(METRICS_AUTH_ACCESS if options.metrics_auth else ()),
    )
