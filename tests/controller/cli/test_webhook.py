"""Where a program converts, by its command line and its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.crd import WebhookService
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.cli.manifests_command import manifests
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import Options
from handloop.controller.cli.webhook import (
    any_is_converted,
    conversion_access,
    definition_of,
    webhook_address,
    webhook_service,
)
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.serving.bind_address import BindAddress
from support.builders.converted_sites import OldSite, Site
from support.rigs.greeter import Greeting

ROOM = "handloop.controller.runtime.conversion.conversion"


def _operator(kind: type[Any]) -> Operator:
    def set_up(manager: Manager) -> None:
        controller_for(manager, "sites").for_(kind).complete(lambda _obj, _context: None)

    dry = DrySetUp([set_up], None)
    return Operator(name="shop", command="shop", set_up=dry.set_up, setups=dry.setups, version=lambda: "")


def _options(*arguments: str, kind: type[Any] = Site, pod: Path | None = None) -> Options:
    """Of a command line, on a laptop or in a pod."""
    environment = {} if pod is None else {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}
    account = "/nowhere" if pod is None else str(pod)
    return parse_options(arguments, environment, operator=_operator(kind), service_account=account)


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    """The account of a pod."""
    for name, text in (("namespace", "web"), ("token", "t"), ("ca.crt", "c")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "service", "address"),
    [
        ((), WebhookService(name="shop-webhook", namespace="shop-system"), BindAddress("127.0.0.1", 9443)),
        (
            ("--webhook-service=s",),
            WebhookService(name="s", namespace="shop-system"),
            BindAddress("127.0.0.1", 9443),
        ),
        (
            ("--webhook-url=https://h:1",),
            WebhookService(name="shop-webhook", namespace="default", url="https://h:1"),
            BindAddress("127.0.0.1", 9443),
        ),
        (
            ("--sandbox",),
            WebhookService(name="shop-webhook", namespace="default", url="https://127.0.0.1:0"),
            BindAddress("127.0.0.1", 0),
        ),
        (
            ("--leader-elect-resource-namespace=n", "--webhook-bind-address=:7"),
            WebhookService(name="shop-webhook", namespace="n"),
            BindAddress("", 7),
        ),
    ],
)
def test_outside_of_a_cluster(
    arguments: Sequence[str], service: WebhookService, address: BindAddress
) -> None:
    """The Secret is in the namespace of the lease, or where the manifests put the program."""
    options = _options(*arguments)
    assert (webhook_service(options), webhook_address(options)) == (service, address)


def test_in_a_pod(pod: Path) -> None:
    """The Service and the Secret are in its namespace, and it listens for all."""
    options = _options(pod=pod)
    assert webhook_service(options) == WebhookService(name="shop-webhook", namespace="web")
    assert webhook_address(options) == BindAddress("", 9443)


@pytest.mark.parametrize(
    "url",
    ["http://h:1", "h:1", "https://", "https://h/path", "https://h?q=1", "https://u:p@h", "https://h#f"],
)
def test_a_url_that_no_server_takes_is_refused(url: str) -> None:
    """The path is ours to choose."""
    with pytest.raises(UsageError, match=r"is not https://HOST:PORT"):
        _options(f"--webhook-url={url}")


def test_manifests_name_the_service_and_what_the_keeper_needs() -> None:
    """Of a kind with functions, and of no other."""
    crd, rbac = (manifests(_options(what)) for what in ("crd", "rbac"))
    assert "name: shop-webhook\n" in crd
    assert "resourceNames: [sites.example.org]" in rbac
    assert "resourceNames: [shop-webhook]" in rbac
    outside = manifests(_options("crd", "--webhook-url=https://h:1"))
    assert "url: https://h:1/convert\n" in outside
    assert "service:" not in outside
    plain = [manifests(_options(what, kind=Greeting)) for what in ("crd", "rbac")]
    assert not [text for text in plain if "webhook" in text or "secrets" in text]
    of_files = manifests(_options("rbac", "--webhook-cert-dir=/c"))
    assert "secrets" not in of_files
    assert definition_of(OldSite, _options())["spec"].get("conversion") is None


def test_a_program_that_converts_nothing_loads_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither certificates nor their keeper."""
    for name in [one for one in sys.modules if one.startswith(ROOM.rpartition(".")[0])]:
        monkeypatch.delitem(sys.modules, name)
    assert conversion_access([Greeting, OldSite], _options()) == ()
    assert not any_is_converted([Greeting, OldSite])
    assert ROOM not in sys.modules
    assert conversion_access([Site], _options())
    assert ROOM in sys.modules
