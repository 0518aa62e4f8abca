"""
Converts custom objects between versions, with a definition's webhook or a function that a test provides.

The sandbox does not route traffic for Services, so the annotation `sandbox.handloop.dev/address` on the
Service gives the webhook's address. An ExternalName Service does not need the annotation, because it names
the host itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from handloop_sandbox.cluster.service_endpoints import SERVICES
from handloop_sandbox.custom import conversion_review, conversion_webhook
from handloop_sandbox.custom.conversion_review import ReviewError, webhook_of
from handloop_sandbox.custom.conversion_webhook import CallError, Target
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.conversion import Answers, ConversionNeededError, question, unversioned

ConvertFunction = Callable[[Sequence[Object], str], Sequence[Object]]
"""(objects, wanted apiVersion) -> converted objects. An exception has the effect of a failing webhook."""

ADDRESS: Final = "sandbox.handloop.dev/address"
_BATCH: Final = 500
_PORT: Final = 443
_NOWHERE: Final = ("", 0)
_encode, _decode = msgspec.json.encode, msgspec.json.decode


class Converters:
    """Calls webhooks and functions to convert objects. It has no state, so any thread can use it."""

    def __init__(self, functions: Mapping[str, ConvertFunction]) -> None:
        """Args: functions maps the names of definitions to the functions that replace their webhooks."""
        self._functions = functions

    def target(self, state: State, needed: ConversionNeededError) -> Target | None:
        """
        Return the webhook that performs the conversion, or None if a function performs it.

        Locks: the caller holds the engine's lock.
        """
        name = needed.conversion.name
        return None if name in self._functions else _target(state, needed.conversion.webhook["clientConfig"])

    def answers(self, needed: ConversionNeededError, target: Target | None) -> Answers:
        """
        Convert the objects in batches, and return the results.

        Blocks: until the webhook or function has answered. Locks: the caller must not hold any.
        """
        found: Answers = {}
        objects = [unversioned(obj) for obj in needed.objects]
        for start in range(0, len(objects), _BATCH):
            batch = objects[start : start + _BATCH]
            converted = self._converted(needed, target, batch)
            for obj, answer in zip(batch, converted, strict=True):
                found[question(needed.conversion.name, obj, needed.api_version)] = answer
        return found

    def _converted(
        self, needed: ConversionNeededError, target: Target | None, objects: list[Object]
    ) -> list[Object | str]:
        """Return, for each object, the object in the wanted version or the reason why conversion failed."""
        api_version = needed.api_version
        try:
            converted = self._asked(needed, target, objects)
        except CallError as error:
            return [f"{webhook_of(obj)} {error}" for obj in objects]
        except ReviewError as error:
            if len(objects) == 1:
                return [f"{webhook_of(objects[0])} {error}"]
            # Convert the objects separately, as a kube-apiserver does, to find those that cause the error.
            return [answer for obj in objects for answer in self._converted(needed, target, [obj])]
        return [
            conversion_review.problem_of(obj, answer, api_version) or answer
            for obj, answer in zip(objects, converted, strict=True)
        ]

    def _asked(
        self, needed: ConversionNeededError, target: Target | None, objects: list[Object]
    ) -> list[Any]:
        conversion, api_version = needed.conversion, needed.api_version
        if target is None:
            converted = self._called(self._functions[conversion.name], objects, api_version)
        else:
            version, uid = conversion_review.version_of(conversion.webhook), str(uuid.uuid4())
            asked = conversion_review.review(version, uid, objects, api_version)
            content = conversion_webhook.call(target, _encode(asked))
            converted = conversion_review.answered(content, version, uid)
        if len(converted) != len(objects):
            raise ReviewError(f"returned {len(converted)} objects, expected {len(objects)}")
        return converted

    @staticmethod
    def _called(function: ConvertFunction, objects: list[Object], api_version: str) -> list[Any]:
        """Return a function's result. The function receives a copy of the objects, which it can modify."""
        try:
            given = function(_decode(_encode(objects)), api_version)
            converted: list[Any] = _decode(_encode(list(given)))
        except Exception as error:
            raise ReviewError(f"failed: {error}") from error
        return converted


def _target(state: State, client: Mapping[str, Any]) -> Target:
    authorities = conversion_webhook.authorities_of(client)
    if address := client.get("url"):
        parts = urlsplit(address)
        host = parts.hostname or ""
        return Target(address, host, parts.port or _PORT, host, authorities)
    service = client["service"]
    name, namespace, port = service["name"], service["namespace"], service.get("port", _PORT)
    host = f"{name}.{namespace}.svc"
    url = f"https://{host}:{port}/{(service.get('path') or '').lstrip('/')}"
    problem, at = _address(state.get(SERVICES, namespace, name), name, port)
    return Target(url, at[0], at[1], host, authorities, problem)


def _address(service: Object | None, name: str, port: int) -> tuple[str, tuple[str, int]]:
    """Return ("", address) if the Service has an address, or else (error message, placeholder)."""
    if service is None:
        return f'service "{name}" not found', _NOWHERE
    spec, annotations = service["spec"], service["metadata"].get("annotations") or {}
    given, _, number = annotations.get(ADDRESS, "").rpartition(":")
    if number.isdecimal():
        return "", (given, int(number))
    if spec.get("type") == "ExternalName":
        return "", (spec["externalName"], port)
    if spec.get("clusterIP") == "None":
        return 'cannot route to service with ClusterIP "None"', _NOWHERE
    if port not in {each["port"] for each in spec.get("ports") or ()}:
        return f'no service port {port} found for service "{name}"', _NOWHERE
    return f"dial tcp {spec.get('clusterIP')}:{port}: connect: connection refused", _NOWHERE
