"""Runs an operator for a kind with three versions, as a process. Its arguments are the arguments of run()."""

from __future__ import annotations

import os
import sys
import uuid
from datetime import timedelta
from typing import ClassVar, Final

from handloop import APIStruct, Context, Kind, Manager, controller_for, load_config
from handloop.apis.crd import WebhookService
from handloop.controller.runtime.conversion.conversion import ConversionOptions, add_conversion
from handloop.controller.runtime.conversion.trust import Lifetimes
from handloop.controller.runtime.serving.bind_address import BindAddress

GROUP: Final = os.environ.get("VERSIONS_GROUP") or f"v{uuid.uuid4().hex[:8]}.soak.example.com"
NAME: Final = "versions"
SHORT: Final = Lifetimes(
    authority=timedelta(seconds=24), certificate=timedelta(seconds=6), grace=timedelta(seconds=2)
)


class Status(APIStruct):
    """The status, which is the same in all versions."""

    ready: int = 0


class AlphaSpec(APIStruct):
    """The spec with one string that contains the host and the port."""

    address: str = ":80"
    size: int = 1


class Alpha(Kind, group=GROUP, version="v1alpha1", kind="Crate"):
    """The first version."""

    spec: AlphaSpec = AlphaSpec()
    status: Status = Status()


class BetaSpec(APIStruct):
    """The spec with separate fields for host and port, and `size` renamed to `replicas`."""

    host: str = ""
    port: int = 80
    replicas: int = 1
    note: str = ""


class Beta(Kind, group=GROUP, version="v1beta1", kind="Crate", previous=Alpha):
    """The second version."""

    kept_fields: ClassVar = ("spec.note",)
    spec: BetaSpec = BetaSpec()
    status: Status = Status()

    @classmethod
    def from_previous(cls, old: Alpha) -> Beta:
        """Split the address."""
        host, _, port = old.spec.address.rpartition(":")
        spec = BetaSpec(host=host, port=int(port), replicas=old.spec.size)
        return cls(metadata=old.metadata, spec=spec, status=old.status)

    def to_previous(self) -> Alpha:
        """Join host and port to an address."""
        spec = AlphaSpec(address=f"{self.spec.host}:{self.spec.port}", size=self.spec.replicas)
        return Alpha(metadata=self.metadata, spec=spec, status=self.status)


class Spec(APIStruct):
    """The spec with several hosts."""

    hosts: tuple[str, ...] = ()
    port: int = 80
    replicas: int = 1
    note: str = ""


class Crate(Kind, group=GROUP, version="v1", previous=Beta):
    """The newest version."""

    kept_fields: ClassVar = ("spec.hosts",)
    spec: Spec = Spec()
    status: Status = Status()

    @classmethod
    def from_previous(cls, old: Beta) -> Crate:
        """Convert the host to a list."""
        was = old.spec
        spec = Spec(
            hosts=(was.host,) if was.host else (), port=was.port, replicas=was.replicas, note=was.note
        )
        return cls(metadata=old.metadata, spec=spec, status=old.status)

    def to_previous(self) -> Beta:
        """Use only the first host."""
        now = self.spec
        spec = BetaSpec(
            host=now.hosts[0] if now.hosts else "", port=now.port, replicas=now.replicas, note=now.note
        )
        return Beta(metadata=self.metadata, spec=spec, status=self.status)


VERSIONS: Final = (Crate, Beta, Alpha)


def reconcile(crate: Crate, context: Context) -> None:
    """Log the crate."""
    context.log.info("A crate", v=6, hosts=crate.spec.hosts)


def run(kubeconfig: str, port: int, health: int, url: str) -> None:
    """Run the operator until it receives a signal."""
    config = load_config(kubeconfig=kubeconfig)
    manager = Manager.from_config(
        config,
        name=NAME,
        leader_election=f"default/{NAME}-{GROUP.partition('.')[0]}",
        health=f"127.0.0.1:{health}",
    )
    controller_for(manager, "crates").for_(Crate).complete(reconcile)
    webhook = WebhookService(name=f"{NAME}-{GROUP.partition('.')[0]}", namespace="default", url=url)
    options = ConversionOptions(address=BindAddress("127.0.0.1", port), webhook=webhook, lifetimes=SHORT)
    add_conversion(manager, manager.client, options)
    manager.run_until_signalled()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
