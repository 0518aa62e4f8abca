"""Where a program converts between the versions of its kinds, and what that needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.apis.versions import is_converted
from handloop.controller.cli.options import Options
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.seams.logs import get_logger

if TYPE_CHECKING:
    from handloop.client.resource_client import Client
    from handloop.controller.runtime.manager import Manager

log = get_logger("conversion")

_PORT: Final = 9443
_LOOPBACK: Final = "127.0.0.1"


def definition_of(kind: type[Any], options: Options) -> dict[str, Any]:
    """The definition of a kind, with this program's webhook if its versions are converted."""
    return custom_resource_definition(kind, webhook_service(options))


def webhook_service(options: Options) -> WebhookService:
    """Where the API server finds the webhook; without a namespace that is known, in that of the manifests."""
    name = options.operator.name
    namespace = options.leader_elect_resource_namespace or options.own_namespace or f"{name}-system"
    url = options.webhook_url or (f"https://{_LOOPBACK}:0" if options.sandbox else "")
    return WebhookService(name=f"{name}-webhook", namespace=namespace, url=url)


def convert(manager: Manager, client: Client, options: Options) -> None:
    """
    Have a manager convert, if functions join versions of a kind that it reconciles.

    Raises: ListenError; OSError for files that do not load.
    """
    if not _any_is_converted(manager.reconciled_kinds()):
        return
    service = webhook_service(options)
    if not (options.in_cluster or service.url):
        what = "Nothing is converted here, outside of the cluster: --webhook-url=https://HOST:PORT does"
        log.warning(what, kinds=[kind.__name__ for kind in manager.reconciled_kinds()])
        return
    # loaded here: most programs convert nothing
    from handloop.controller.runtime.conversion.conversion import (  # noqa: PLC0415
        ConversionOptions,
        add_conversion,
    )

    address = options.webhook_bind_address or _address(options)
    given = ConversionOptions(address=address, webhook=service, folder=options.webhook_cert_dir)
    add_conversion(manager, client, given)


def conversion_access(kinds: Sequence[type[Any]], options: Options) -> tuple[Access, ...]:
    """What the keeper of the definitions of these kinds needs."""
    if not _any_is_converted(kinds):
        return ()
    from handloop.controller.runtime.conversion.conversion import access_for  # noqa: PLC0415

    return access_for(kinds, webhook_service(options), secret=not options.webhook_cert_dir)


def _any_is_converted(kinds: Iterable[type[Any]]) -> bool:
    return any(is_converted(kind) for kind in kinds)


def _address(options: Options) -> BindAddress:
    if options.in_cluster:
        return BindAddress("", _PORT)
    return BindAddress(_LOOPBACK, 0 if options.sandbox and not options.webhook_url else _PORT)
