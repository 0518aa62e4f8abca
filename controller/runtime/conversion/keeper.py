"""
Keep a definition's conversion settings correct: the webhook's address, and the trusted authorities.

Each CustomResourceDefinition has its own controller, which runs on the leader. The controller writes the
Secret before it corrects the definition. It replaces the webhook's certificate only when every definition
trusts the authority that signed the new one.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import to_builtins
from msgspec.structs import replace

from handloop.apis.crd import WebhookService
from handloop.apis.decoders import converted
from handloop.apis.meta import APIStruct, Kind
from handloop.client.errors import AlreadyExists, Conflict, NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.conversion.material import material_of, read_secret, write_material
from handloop.controller.runtime.conversion.trust import Trust
from handloop.controller.runtime.reconcile import ReconcileError, Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.seams.clock import Clock

_WEBHOOK: Final = "Webhook"
_SOON_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 15.0


class _Service(APIStruct):
    namespace: str
    name: str
    path: str | None = None
    port: int = 443


class _ClientConfig(APIStruct):
    ca_bundle: str = ""
    url: str | None = None
    service: _Service | None = None


class _Webhook(APIStruct):
    client_config: _ClientConfig = _ClientConfig()


class _Conversion(APIStruct):
    strategy: str = "None"
    webhook: _Webhook | None = None


class _Version(APIStruct):
    name: str


class _Spec(APIStruct):
    conversion: _Conversion = _Conversion()
    versions: tuple[_Version, ...] = ()


class Definition(
    Kind,
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    scope="Cluster",
):
    """What a definition says about conversion."""

    spec: _Spec = _Spec()

    @property
    def bundle(self) -> bytes:
        """The authorities that it trusts, as PEM."""
        webhook = self.spec.conversion.webhook
        text = "" if webhook is None else webhook.client_config.ca_bundle
        return b64decode(text)  # the server accepts only base64


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The webhook's address, its Secret, and the versions of each definition that the webhook converts."""

    webhook: WebhookService
    secret: ObjectName
    versions: Mapping[str, Collection[str]]

    def client_config(self, bundle: bytes) -> _ClientConfig:
        """Return the webhook's clientConfig that a definition must have."""
        config: _ClientConfig = converted(self.webhook.client_config(), _ClientConfig)
        return replace(config, ca_bundle=b64encode(bundle).decode())


class Keeper:
    """
    Keeps a definition's conversion settings correct, with certificates that this program creates.

    Implements Reconciler[Definition]. A keeper also corrects a definition with one version, although its
    objects are never converted. The program can therefore be deployed before a definition with two versions
    is applied. That definition then keeps the webhook's address and authorities.
    """

    def __init__(self, place: Place, trust: Trust, clock: Clock) -> None:
        self._place = place
        self._trust = trust
        self._clock = clock

    def reconcile(self, definition: Definition, context: Context) -> Result:
        """
        Write the Secret if its content must change, and correct the definition.

        Raises: the same errors as put_right; ImportError without the cryptography package.
        """
        secret = read_secret(context.client, self._place.secret)
        given = material_of(secret)
        trusted = [each.bundle for each in self._definitions(context.client, definition)]
        step = self._trust.step(given, trusted, self._clock.time())
        if step.material != given:
            try:
                write_material(context.client, self._place.secret, secret, step.material)
            except (AlreadyExists, Conflict):
                return Result(requeue_after=_SOON_SECONDS)
            context.log.info("Wrote the webhook's certificates", secret=str(self._place.secret))
        put_right(definition, context, self._place, step.material.authorities)
        # Check again soon. The Secret is not watched, but a starting replica cannot convert without it.
        return Result(requeue_after=min(step.wait_seconds, _LOOK_SECONDS))

    def _definitions(self, client: Client, known: Definition) -> Iterator[Definition]:
        """
        Return the definitions that use a webhook. The other definitions trust no authority, so they are
        skipped.
        """
        for name in self._place.versions:
            try:
                found = known if name == known.metadata.name else client.resource(Definition).get(name)
            except NotFound:
                continue
            if found.spec.conversion.strategy == _WEBHOOK:
                yield found


class FileKeeper:
    """Like Keeper, but for certificates from files. If read returns None, the authorities stay unchanged."""

    def __init__(self, place: Place, read: Callable[[], bytes | None]) -> None:
        self._place = place
        self._read = read

    def reconcile(self, definition: Definition, context: Context) -> Result:
        """Correct the definition. Raises: the same errors as put_right; OSError if read fails."""
        put_right(definition, context, self._place, self._read())
        return Result(requeue_after=_LOOK_SECONDS)


def put_right(definition: Definition, context: Context, place: Place, bundle: bytes | None) -> None:
    """
    Correct the definition's conversion settings where they differ from the desired ones.

    Args: if bundle is None, the authorities stay unchanged.
    Raises: ClientError if a request fails; ReconcileError if the definition has versions that this program
    does not know, and another webhook converts the kind.
    """
    conversion, name = definition.spec.conversion, definition.metadata.name
    wanted = place.client_config(definition.bundle if bundle is None else bundle)
    if conversion.strategy == _WEBHOOK and conversion.webhook is not None:
        found = conversion.webhook.client_config
        if found == wanted:
            return
        newer = [each.name for each in definition.spec.versions if each.name not in place.versions[name]]
        if newer and (found.url, found.service) != (wanted.url, wanted.service):
            what = f"left the webhook of {name} unchanged: this program does not know {', '.join(newer)}"
            raise ReconcileError(what)
    # The address is given by either url or service. A null removes the other one.
    client = {"url": None, "service": None, **to_builtins(wanted)}
    patch = {
        "metadata": {"resourceVersion": definition.metadata.resource_version},
        "spec": {
            "conversion": {
                "strategy": _WEBHOOK,
                "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
            }
        },
    }
    context.client.resource(Definition).patch(name, patch)
    context.log.info("Corrected the definition's conversion", definition=name)
