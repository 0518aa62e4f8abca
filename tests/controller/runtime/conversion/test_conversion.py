"""Conversion put together in a manager: the webhook, the keepers, and what they need."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from handloop.apis.crd import WebhookService
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.conversion.conversion import (
    ConversionOptions,
    _hosts,
    access_for,
    add_conversion,
    converted_kinds,
)
from handloop.controller.runtime.conversion.keeper import Definition
from handloop.controller.runtime.conversion.material import Secret
from handloop.controller.runtime.conversion.trust import NO_PAIR, Material, Trust
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.key_pairs import certificates_in, new_pair
from handloop.controller.runtime.serving.listening import NoCertificateError
from handloop.testing.eventually import eventually
from handloop.testing.managed_sandbox import ManagedSandbox
from support.builders.converted_sites import OldSite, OldSpec, Site
from support.rigs.greeter import Greeting

LOOPBACK = BindAddress("127.0.0.1", 0)
OUTSIDE = WebhookService(name="web-webhook", namespace="default", url="https://127.0.0.1:0")


def _nothing(_obj: object, _context: Context) -> None:
    """Reconcile nothing."""


def test_what_a_keeper_needs_is_named() -> None:
    """The definitions and the Secret by their names; none that is not converted."""
    found = access_for([Site, Greeting], WebhookService(name="w", namespace="n"), secret=True)
    by_resource = {(each.resource.plural, each.names): each for each in found}
    definitions = [each for each in found if each.resource == Definition.resource]
    assert {each.names for each in definitions} == {("sites.example.org",)}
    assert {verb for each in definitions for verb in each.verbs} == {"get", "list", "watch", "patch"}
    assert set(by_resource["secrets", ("w",)].verbs) == {"get", "patch"}
    assert by_resource["secrets", ()].verbs == ("create",)
    of_secret = {(each.namespace, each.purpose) for each in found if each.resource == Secret.resource}
    assert of_secret == {("n", "webhook")}, "a role of its own, where the Secret is"
    of_files = access_for([Site], WebhookService(), secret=False)
    assert {each.resource for each in of_files} == {Definition.resource}


def test_a_manager_without_such_kinds_is_left_as_it_is() -> None:
    """It gets no webhook, and declares nothing more."""
    cluster = ManagedSandbox(Greeting)
    manager = cluster.manager()
    controller_for(manager, "greetings").for_(Greeting).complete(_nothing)
    before = manager.access()
    options = ConversionOptions(address=LOOPBACK, webhook=OUTSIDE)
    assert add_conversion(manager, cluster.client, options) is None
    assert (converted_kinds(manager), manager.access()) == ([], before)


def test_a_manager_converts_and_keeps_the_definition() -> None:
    """The port that it has got is in the definition, with the authority of the certificate."""
    cluster = ManagedSandbox(Site)
    manager = cluster.manager()
    controller_for(manager, "sites").for_(Site).complete(_nothing)
    options = ConversionOptions(address=LOOPBACK, webhook=OUTSIDE)
    webhook = add_conversion(manager, cluster.client, options)
    assert webhook is not None
    assert set(manager.runnables()) == {"sites", "conversion-webhook", "conversion-sites.example.org"}
    written = {(each.resource, each.names) for each in manager.access() if "patch" in each.verbs}
    assert {(Definition.resource, ("sites.example.org",)), (Secret.resource, ("web-webhook",))} <= written
    with cluster.running(manager):

        def kept() -> bool:
            definition = cluster.client.resource(Definition).get("sites.example.org")
            conversion = definition.spec.conversion.webhook
            assert conversion is not None
            url = f"https://127.0.0.1:{webhook.port}/convert"
            return conversion.client_config.url == url and bool(certificates_in(definition.bundle))

        eventually(kept, "written")
        eventually(lambda: manager.readiness_checks()["runnables"]() is None, "ready")


def test_a_folder_without_a_pair_is_a_clear_error(tmp_path: Path) -> None:
    """At the start, and with both files it serves at once."""
    cluster = ManagedSandbox(Site)
    manager = cluster.manager()
    controller_for(manager, "sites").for_(Site).complete(_nothing)
    options = ConversionOptions(address=LOOPBACK, webhook=OUTSIDE, folder=str(tmp_path))
    with pytest.raises(NoCertificateError, match=r"for conversion: .*tls.crt and tls.key"):
        add_conversion(manager, cluster.client, options)
    pair = new_pair("w", 1_700_000_000.0, timedelta(days=900), hosts=("127.0.0.1",))
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    cluster = ManagedSandbox(Site)
    manager = cluster.manager()
    controller_for(manager, "sites").for_(Site).complete(_nothing)
    webhook = add_conversion(manager, cluster.client, options)
    assert webhook is not None
    assert webhook.ready_check() is None
    with cluster.running(manager):
        eventually(lambda: webhook.port, "bound")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "Shop.example.org"])
def test_a_pair_is_made_once_for_each_spelling_of_the_host(host: str) -> None:
    """The spelling in the URL may differ from the one in the certificate."""
    trust, now = (
        Trust("shop", _hosts(WebhookService(name="shop", namespace="x", url=f"https://{host}:1"))),
        2e9,
    )
    first = trust.step(Material(), [], now).material
    served = trust.step(first, [first.authorities], now).material
    assert served.pair != NO_PAIR
    assert trust.step(served, [served.authorities], now + 1).material == served


def test_a_test_of_an_author_converts_without_a_webhook() -> None:
    """Objects of the older version can be written and read in a sandbox of the kit."""
    cluster = ManagedSandbox(Site)
    olds, sites = cluster.client.resource(OldSite), cluster.client.resource(Site)
    olds.create(OldSite.named("a", namespace="default", spec=OldSpec(size=3)))
    assert sites.get("a", namespace="default").spec.replicas == 3
    sites.patch("a", {"spec": {"replicas": 5}}, namespace="default")
    assert olds.get("a", namespace="default").spec.size == 5
