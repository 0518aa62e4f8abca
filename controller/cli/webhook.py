"""The webhook that converts between the versions of a program's kinds, and the access that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.apis.versions import is_converted
from handloop.controller.cli.options import Options
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.serving.bind_address import BindAddress

_PORT: Final = 9443
IN_CLUSTER: Final = BindAddress("", _PORT)
_LOOPBACK: Final = "127.0.0.1"


def definition_of(kind: type[Any], options: Options) -> dict[str, Any]:
    """
    Return a kind's definition.

    If the kind's versions are converted, the definition refers to this program's webhook.
    """
    return custom_resource_definition(kind, webhook_service(options))


def webhook_service(options: Options) -> WebhookService:
    """
    Return the Service or URL of the webhook, and the namespace of the webhook's Secret.

    If no namespace is known, the namespace in the manifests is returned, or `default` if the webhook has a
    URL.
    """
    name = options.operator.name
    url = options.webhook_url or (f"https://{_LOOPBACK}:0" if options.sandbox else "")
    usual = "default" if url else f"{name}-system"
    namespace = options.leader_elect_resource_namespace or options.own_namespace or usual
    return WebhookService(name=options.webhook_service or f"{name}-webhook", namespace=namespace, url=url)


def conversion_access(kinds: Sequence[type[Any]], options: Options) -> tuple[Access, ...]:
    """Return the access that the program needs to keep these kinds' definitions up to date."""
    if not any_is_converted(kinds):
        return ()
    from handloop.controller.runtime.conversion.conversion import access_for  # noqa: PLC0415

    return access_for(kinds, webhook_service(options), secret=not options.webhook_cert_dir)


def any_is_converted(kinds: Iterable[type[Any]]) -> bool:
    """Return whether any of these kinds has functions that convert between its versions."""
    return any(is_converted(kind) for kind in kinds)


def webhook_address(options: Options) -> BindAddress:
    """Return the address on which the webhook listens."""
    if options.webhook_bind_address is not None:
        return options.webhook_bind_address
    if options.in_cluster:
        return IN_CLUSTER
    return BindAddress(_LOOPBACK, 0 if options.sandbox and not options.webhook_url else _PORT)
