from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from handloop.client.auth.auth_provider import fetch_from_provider
from handloop.client.errors import ConfigError, ConfigProblem


def id_token(expires: int) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{payload}.sig"


def test_an_oidc_provider_s_token() -> None:
    """An auth provider of the kubernetes package gives its token, asked again every minute."""
    token = id_token(4_000_000_000)
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}
    fetched = fetch_from_provider(user, "", 1000.0)
    assert fetched.authorization == f"Bearer {token}"
    assert fetched.expires_at == 1060.0


@pytest.mark.parametrize(
    "provider", [{"name": "azure", "config": {}}, {"name": "oidc"}, {"name": "oidc", "config": {}}, {}]
)
def test_a_provider_that_gives_nothing(provider: dict[str, Any]) -> None:
    """E06: a provider that is gone or broken says so by name."""
    with pytest.raises(ConfigError) as caught:
        fetch_from_provider({"auth-provider": provider}, "", 0.0)
    assert caught.value.kind is ConfigProblem.CREDENTIALS
    assert f'auth provider "{provider.get("name", "")}" failed' in caught.value.message
