from __future__ import annotations

from handloop_sandbox.requests import tokens

_KEY = b"k" * 32


def _issue(now: float = 1000.0) -> str:
    return tokens.issue(_KEY, namespace="n", account="robot", uid="u", now=now, seconds=60)


def test_a_token_names_its_audience() -> None:
    """A token that was issued is verified until it expires."""
    claims = tokens.verify(_KEY, _issue(), 1059.0)
    assert claims is not None
    assert claims["sub"] == "system:serviceaccount:n:robot"
    assert tokens.verify(_KEY, _issue(), 1060.0) is None


def test_forged_tokens() -> None:
    """Another key, a changed claim or something else altogether is no user."""
    token = _issue()
    assert tokens.verify(b"x" * 32, token, 1000.0) is None
    head, claims, signature = token.split(".")
    assert tokens.verify(_KEY, f"{head}.{claims[:-2]}AA.{signature}", 1000.0) is None
    assert tokens.verify(_KEY, "nonsense", 1000.0) is None
    assert tokens.verify(_KEY, "a.b.c", 1000.0) is None
