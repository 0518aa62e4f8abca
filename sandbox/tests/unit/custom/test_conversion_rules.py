from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom.conversion_rules import conversion_causes


def _webhook(**client: Any) -> dict[str, Any]:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    return {"strategy": "Webhook", "webhook": webhook}


@pytest.mark.parametrize(
    "conversion",
    [
        None,
        {"strategy": "None"},
        _webhook(url="https://x/convert"),
        _webhook(service={"name": "a", "namespace": "b", "path": "/c", "port": 443}),
    ],
)
def test_conversions_that_are_fine(conversion: dict[str, Any] | None) -> None:
    """None, or a webhook by address or by service."""
    assert conversion_causes(conversion) == []


@pytest.mark.parametrize(
    ("conversion", "fields"),
    [
        ({"strategy": "Odd"}, ["strategy"]),
        ({"strategy": "Webhook"}, ["webhookClientConfig", "conversionReviewVersions"]),
        (
            {"strategy": "None", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}},
            ["webhookClientConfig", "conversionReviewVersions"],
        ),
        (_webhook(), ["webhookClientConfig"]),
        (_webhook(url="https://x", service={}), ["webhookClientConfig"]),
        (_webhook(url="http://u@x?y#z"), ["webhookClientConfig.url"] * 4),
        (_webhook(url="https:///x"), ["webhookClientConfig.url"]),
        (
            _webhook(service={"port": 0}),
            [f"webhookClientConfig.service.{n}" for n in ("name", "namespace", "port")],
        ),
        (
            _webhook(service={"name": "a", "namespace": "b", "path": "/c//d"}),
            ["webhookClientConfig.service.path"],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v9", "v9"], "clientConfig": {"url": "https://x"}},
            },
            ["conversionReviewVersions", "conversionReviewVersions[1]"],
        ),
    ],
)
def test_conversions_that_are_not(conversion: dict[str, Any], fields: list[str]) -> None:
    """Missing, superfluous and malformed parts are reported by their field."""
    found = [cause.field.removeprefix("spec.conversion.") for cause in conversion_causes(conversion)]
    assert found == fields
