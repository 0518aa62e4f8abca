"""
Validates spec.conversion in a CustomResourceDefinition.

Follows: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceConversion).
"""

from __future__ import annotations

from typing import Final

from handloop_sandbox.wire import webhook_client
from handloop_sandbox.wire.causes import forbidden_field, required
from handloop_sandbox.wire.field_rules import Object, entries, one_of
from handloop_sandbox.wire.status import Cause

_STRATEGIES: Final = ("None", "Webhook")
_REVIEWS: Final = "spec.conversion.conversionReviewVersions"
_CLIENT: Final = "spec.conversion.webhookClientConfig"
_NO_WEBHOOK: Final = "should not be set when strategy is not set to Webhook"


def conversion_causes(conversion: Object | None) -> list[Cause]:
    """Return the errors in a CustomResourceDefinition's spec.conversion."""
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), list(entries(webhook, "conversionReviewVersions"))
    causes = one_of("spec.conversion.strategy", strategy, _STRATEGIES)
    if strategy == "Webhook":
        if client is None:
            causes.append(required(_CLIENT, "required when strategy is set to Webhook"))
        else:
            causes += webhook_client.client(_CLIENT, client)
        return causes + webhook_client.reviews(_REVIEWS, reviews)
    causes += [forbidden_field(_CLIENT, _NO_WEBHOOK)] if client is not None else []
    return causes + ([forbidden_field(_REVIEWS, _NO_WEBHOOK)] if reviews else [])
