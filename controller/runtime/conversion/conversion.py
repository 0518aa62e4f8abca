"""
Set up conversion: a webhook on every replica and, on the leader, a keeper for each definition.

A keeper is a controller that keeps the conversion settings of one CustomResourceDefinition correct.

    manager --reconciles--> kinds with functions --> Webhook, and a controller `conversion-PLURAL` for each
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from handloop.apis.crd import WebhookService
from handloop.apis.meta import Kind
from handloop.apis.versions import is_converted, versions_of
from handloop.client.resource_client import Client
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.conversion.keeper import Definition, FileKeeper, Keeper, Place
from handloop.controller.runtime.conversion.material import Secret, read_pair
from handloop.controller.runtime.conversion.trust import Lifetimes, Trust
from handloop.controller.runtime.conversion.webhook import AGAIN_SECONDS, ServedPair, Webhook
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.reconciling.reconciler import Reconciler
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics, certificate_in
from handloop.controller.runtime.serving.listening import NoCertificateError
from handloop.informers.keys import ObjectName

_AUTHORITY: Final = "ca.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionOptions:
    """
    How a program converts objects.

    Fields: address, where the webhook listens; webhook, where the API server finds it; folder, which contains
    tls.crt, tls.key and perhaps ca.crt. If the webhook's url ends in `:0`, the actual port is filled in. If
    folder is "", the program creates the certificates, and stores them in a Secret that has the webhook's
    name and namespace.
    """

    address: BindAddress
    webhook: WebhookService
    folder: str = ""
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


def add_conversion(
    manager: Manager,
    client: Client,
    options: ConversionOptions,
    certificates: CertificateMetrics | None = None,
) -> Webhook | None:
    """
    Add conversion to a manager, for its reconciled kinds that have conversion functions.

    Args: client reads the Secret, on the leader and on standbys; certificates are the certificate metrics
    that the manager's registry already has, or None if it has none.
    Returns: the webhook, or None if the manager has no such kinds.
    Raises: ListenError if the port or the certificate cannot be used.
    """
    kinds = converted_kinds(manager)
    if not kinds:
        return None
    webhook = _webhook(kinds, manager, client, options, certificates)
    manager.add(webhook)
    _keep(kinds, manager, _at_port(options, webhook.port))
    return webhook


def converted_kinds(manager: Manager) -> list[type[Kind]]:
    """Return a manager's reconciled kinds that have functions to convert between versions."""
    return [kind for kind in manager.reconciled_kinds() if is_converted(kind)]


def _webhook(
    kinds: Sequence[type[Kind]],
    manager: Manager,
    client: Client,
    options: ConversionOptions,
    certificates: CertificateMetrics | None,
) -> Webhook:
    made = partial(Webhook, kinds, options.address, registry=manager.registry, clock=manager.seams.clock)
    address = str(options.address)
    if options.folder:
        metrics, clock = certificates or CertificateMetrics(manager.registry), manager.seams.clock
        context = certificate_in(options.folder, metrics, clock, address=address, purpose="conversion")
        return made(context, refresh=lambda: True, check=lambda: None)
    if find_spec("cryptography") is None:
        why = "cannot create a certificate without the package cryptography: pip install cryptography"
        raise NoCertificateError(address, "conversion", why)
    served = ServedPair(partial(read_pair, client, _secret(options)))
    # Refresh often enough even for a certificate that is valid for only a few seconds, as in a test.
    again = min(AGAIN_SECONDS, options.lifetimes.certificate.total_seconds() / 20)
    return made(served.context, refresh=served.refresh, check=served.check, again_seconds=again)


def _keep(kinds: Sequence[type[Kind]], manager: Manager, options: ConversionOptions) -> None:
    versions = {
        kind.resource.group_resource: [each.resource.version for each in versions_of(kind)] for kind in kinds
    }
    place = Place(webhook=options.webhook, secret=_secret(options), versions=versions)
    keeper: Reconciler[Definition]
    if options.folder:
        keeper = FileKeeper(place, partial(_authority, Path(options.folder)))
    else:
        trust = Trust(place.secret.name, _hosts(options.webhook), options.lifetimes)
        keeper = Keeper(place, trust, manager.seams.clock)
    access = _own_access(list(versions), None if options.folder else place.secret)
    for name in versions:
        builder = controller_for(manager, f"conversion-{name}")
        builder.for_(Definition, fields=f"metadata.name={name}").declares(*access).complete(keeper)


def access_for(kinds: Sequence[type[Kind]], webhook: WebhookService, *, secret: bool) -> tuple[Access, ...]:
    """Return the access that keepers for kinds need. Args: secret is True if they create certificates."""
    names = [kind.resource.group_resource for kind in kinds if is_converted(kind)]
    watched = (Access(resource=Definition.resource, verbs=("list", "watch"), names=(name,)) for name in names)
    place = ObjectName(webhook.namespace, webhook.name) if secret else None
    return (*watched, *_own_access(names, place))


def _own_access(definitions: Sequence[str], secret: ObjectName | None) -> tuple[Access, ...]:
    own = Access(resource=Definition.resource, verbs=("get", "patch"), names=tuple(definitions))
    if secret is None:
        return (own,)
    # A separate role is necessary, because the controllers' role applies cluster-wide or to other namespaces.
    of_secret = Access(resource=Secret.resource, verbs=(), namespace=secret.namespace, purpose="webhook")
    return (
        own,
        replace(of_secret, verbs=("get", "patch"), names=(secret.name,)),
        # The name is omitted, because a role cannot name an object that does not exist yet.
        replace(of_secret, verbs=("create",)),
    )


def _at_port(options: ConversionOptions, port: int) -> ConversionOptions:
    url = options.webhook.url
    if urlsplit(url).port != 0:
        return options
    return replace(options, webhook=replace(options.webhook, url=f"{url.rpartition(':')[0]}:{port}"))


def _secret(options: ConversionOptions) -> ObjectName:
    return ObjectName(options.webhook.namespace, options.webhook.name)


def _hosts(webhook: WebhookService) -> tuple[str, ...]:
    if webhook.url:
        host = urlsplit(webhook.url).hostname or ""
        with suppress(ValueError):
            host = str(ip_address(host))  # as certificates spell it, and as they are compared with it
        return (host,)
    service = f"{webhook.name}.{webhook.namespace}.svc"
    return (service, f"{service}.cluster.local")


def _authority(folder: Path) -> bytes | None:
    """Return the content of the folder's ca.crt, or None if that file is missing. Raises: other OSErrors."""
    try:
        return (folder / _AUTHORITY).read_bytes()
    except FileNotFoundError:
        return None
