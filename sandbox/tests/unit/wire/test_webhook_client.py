"""Webhooks. The contract tests about misfits have what a real server makes of others."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.wire import webhook_client


@pytest.mark.parametrize(
    ("config", "complaints"),
    [
        ({"url": "https://a/b"}, []),
        ({}, ["c: Required value: exactly one of url or service is required"]),
        (
            {"url": "https://me@a?b#c"},
            [
                'c.url: Invalid value: "me": user information is not permitted in the URL',
                'c.url: Invalid value: "c": fragments are not permitted in the URL',
                'c.url: Invalid value: "b": query parameters are not permitted in the URL',
            ],
        ),
        ({"service": {"name": "a", "namespace": "b", "path": "/"}}, []),
        (
            {"service": {"name": "a", "namespace": "b", "path": "//"}},
            ['c.service.path: Invalid value: "//": segment[0] may not be empty'],
        ),
        (
            {"service": {"name": "a", "namespace": "b", "port": 0}},
            ["c.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"],
        ),
    ],
)
def test_where_a_webhook_is(config: dict[str, Any], complaints: list[str]) -> None:
    """At a URL, or behind a service."""
    assert [f"{cause.field}: {cause.message}" for cause in webhook_client.client("c", config)] == complaints


def test_the_reviews_that_it_understands() -> None:
    """One of them at least is known."""
    assert webhook_client.reviews("r", ["v2", "v1"]) == []
    assert [cause.field for cause in webhook_client.reviews("r", ["v1", "v1"])] == ["r[1]"]
    assert [cause.field for cause in webhook_client.reviews("r", ["v2"])] == ["r"]
    assert [cause.message for cause in webhook_client.reviews("r", [], "one")] == ["Required value: one"]
