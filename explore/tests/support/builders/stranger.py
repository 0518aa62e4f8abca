"""An operator of somebody who has read about operators: careful, or with some of five usual mistakes."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from handloop import (
    AlreadyExists,
    APIStruct,
    Context,
    FrozenMap,
    Kind,
    Manager,
    NotFound,
    ObjectMeta,
    add_finalizer,
    controller_for,
    evolve,
    is_being_deleted,
    remove_finalizer,
)
from handloop.client.resource_client import ResourceClient
from handloop.kinds.core_v1 import ConfigMap, Secret
from handloop_explore import Workload, applied, changed, deleted, settled

FINALIZER: Final = "example.org/listed"
LENGTH: Final = "example.org/length"
LISTED: Final = "example.org/listed"
LIST: Final = "kube-public"


class SiteSpec(APIStruct):
    text: str


class SiteStatus(APIStruct):
    printed: str = ""
    token: str = ""


class Site(Kind, group="example.org", version="v1"):
    spec: SiteSpec
    status: SiteStatus = SiteStatus()


class Careful:
    """
    A Site gets a page, a token, and a print of its text with its length; it is listed in another namespace.

    Each method does one of these; a mistake is another way to do it.
    """

    def reconcile(self, site: Site, context: Context) -> None:
        sites = context.client.resource(Site)
        if is_being_deleted(site):
            self.leave(site, context)
            return
        site = add_finalizer(sites, site, FINALIZER)
        self.enlist(site, context)
        self.page(site, context)
        site = self.token(site, context)
        self.print(site, context)

    def enlist(self, site: Site, context: Context) -> None:
        with suppress(AlreadyExists):
            context.client.resource(ConfigMap).create(list_entry(site))

    def page(self, site: Site, context: Context) -> None:
        context.apply(ConfigMap.named(site, data={"text": site.spec.text}), owner=site)

    def token(self, site: Site, context: Context) -> Site:
        name = f"{site.metadata.name}-token"
        context.apply(Secret(metadata=ObjectMeta(name=name, namespace=site.metadata.namespace)), owner=site)
        return context.update_status(site, evolve(site.status, "token", name))

    def print(self, site: Site, context: Context) -> None:
        self.keep_print(site, context)
        context.update_status(site, evolve(site.status, "printed", site.spec.text))

    def keep_print(self, site: Site, context: Context) -> None:
        found, length = context.apply(printed(site), owner=site), str(len(site.spec.text))
        if found.metadata.annotations.get(LENGTH) != length:
            measured = evolve(found, f'metadata.annotations["{LENGTH}"]', length)
            self.update(context.client.resource(ConfigMap), measured)

    def update(self, configs: ResourceClient[ConfigMap], config: ConfigMap) -> None:
        configs.update(config)

    def leave(self, site: Site, context: Context) -> None:
        take_off_the_list(site, context)
        remove_finalizer(context.client.resource(Site), site, FINALIZER)


class NoOwner(Careful):
    """No owner reference."""

    def page(self, site: Site, context: Context) -> None:
        context.apply(ConfigMap.named(site, data={"text": site.spec.text}))


class StatusFirst(Careful):
    """The status before the child."""

    def print(self, site: Site, context: Context) -> None:
        if site.status.printed == site.spec.text:
            return
        context.update_status(site, evolve(site.status, "printed", site.spec.text))
        self.keep_print(site, context)


class NameByTime(Careful):
    """A name that holds the time."""

    def token(self, site: Site, context: Context) -> Site:
        if site.status.token:
            return site
        name = f"{site.metadata.name}-{int(time.time())}"
        context.apply(Secret(metadata=ObjectMeta(name=name, namespace=site.metadata.namespace)), owner=site)
        return context.update_status(site, evolve(site.status, "token", name))


class StaleWrite(Careful):
    """An update of what the cache had, without its version: somebody wanted no more conflicts."""

    def update(self, configs: ResourceClient[ConfigMap], config: ConfigMap) -> None:
        configs.update(evolve(config, "metadata.resource_version", ""))


class CleanupLast(Careful):
    """The cleanup after the finalizer is removed."""

    def leave(self, site: Site, context: Context) -> None:
        remove_finalizer(context.client.resource(Site), site, FINALIZER)
        take_off_the_list(site, context)


class AllFive(NoOwner, StatusFirst, NameByTime, StaleWrite, CleanupLast):
    """All of them."""


def list_entry(site: Site) -> ConfigMap:
    name = f"{site.metadata.namespace}-{site.metadata.name}"
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=LIST, labels=FrozenMap({LISTED: "yes"})))


def take_off_the_list(site: Site, context: Context) -> None:
    configs, name = context.client.resource(ConfigMap), list_entry(site).metadata.name
    with suppress(NotFound):
        if LISTED in configs.get(name, namespace=LIST).metadata.labels:
            configs.delete(name, namespace=LIST)


def printed(site: Site) -> ConfigMap:
    name = ObjectMeta(name=f"{site.metadata.name}-print", namespace=site.metadata.namespace)
    return ConfigMap(metadata=name, data=FrozenMap({"text": site.spec.text.upper()}))


SITE: Final[dict[str, Any]] = {
    "apiVersion": Site.resource.api_version,
    "kind": "Site",
    "metadata": {"name": "a"},
    "spec": {"text": "Hello"},
}


def site_workload(operator: type[Careful]) -> Workload:
    """What users do with Sites: all that an author says."""

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "sites").for_(Site).owns(ConfigMap).owns(Secret)
        builder.writes(Site, "patch").writes(Site, "patch", subresource="status")
        builder.writes(ConfigMap, "create", "update", "patch", "delete").writes(Secret, "create", "patch")
        builder.complete(operator())

    steps = [applied(SITE), settled(), changed(SITE, {"spec": {"text": "Bye"}}), settled(), deleted(SITE)]
    return Workload(set_up, steps)
