from __future__ import annotations

from handloop_sandbox.wire import tokens
from handloop_sandbox.wire.tokens import Reference

_KEY = b"k" * 32
_ROBOT = Reference("robot", "u")


def _issue(now: float = 1000.0) -> str:
    return tokens.sign(_KEY, tokens.bound_claims("n", _ROBOT, now=now, seconds=60, token_id="t"))


def test_a_token_names_its_account() -> None:
    """A token that was issued is verified until it expires."""
    claims = tokens.verify(_KEY, _issue(), 1059.0)
    assert claims is not None
    assert claims["sub"] == "system:serviceaccount:n:robot"
    assert tokens.account_of(claims) == ("n", _ROBOT)
    assert tokens.verify(_KEY, _issue(), 1060.0) is None


def test_a_token_of_a_secret_lasts() -> None:
    """It names its Secret, and no time."""
    claims = tokens.verify(_KEY, tokens.sign(_KEY, tokens.lasting_claims("n", _ROBOT, "s")), 1e12)
    assert claims is not None
    assert (tokens.account_of(claims), tokens.lasting_secret(claims)) == (("n", _ROBOT), "s")


def test_forged_tokens() -> None:
    """Another key, a changed claim or something else altogether is no user."""
    token = _issue()
    assert tokens.verify(b"x" * 32, token, 1000.0) is None
    head, claims, signature = token.split(".")
    assert tokens.verify(_KEY, f"{head}.{claims[:-2]}AA.{signature}", 1000.0) is None
    assert tokens.verify(_KEY, "nonsense", 1000.0) is None
    assert tokens.verify(_KEY, "a.b.c", 1000.0) is None
