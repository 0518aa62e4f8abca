"""Conversions. The scene "conversions" has what a real server makes of others."""

from __future__ import annotations

from typing import Any

from handloop_sandbox.custom.conversion_rules import conversion_causes


def _complaints(path: str) -> list[str]:
    service: dict[str, Any] = {"name": "a", "namespace": "b", "path": path, "port": 443}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    return [cause.field for cause in conversion_causes({"strategy": "Webhook", "webhook": webhook})]


def test_the_path_of_a_service() -> None:
    """It begins with a slash, and has no empty parts."""
    assert _complaints("/c") == []
    assert _complaints("/c//d") == ["spec.conversion.webhookClientConfig.service.path"]
