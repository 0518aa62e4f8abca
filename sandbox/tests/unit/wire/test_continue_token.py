from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.wire import continue_token
from handloop_sandbox.wire.continue_token import Continue
from handloop_sandbox.wire.status import StatusError


@given(st.integers(min_value=-1, max_value=2**60), st.text(min_size=1, max_size=30))
def test_a_token_comes_back_as_it_went(rv: int, start: str) -> None:
    """Whatever the key, the token can be read again."""
    token = Continue(rv, start).encode()
    if start.isascii():
        assert continue_token.decode(token) == Continue(rv, start)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("garbage", r"invalid character '\u0081' looking for beginning of value"),
        ("abc", "invalid character 'i' looking for beginning of value"),
        ("a b", "illegal base64 data at input byte 1"),
        ("e30", "server does not recognize this encoded version"),
    ],
)
def test_tokens_from_somewhere_else(token: str, message: str) -> None:
    """A token that is not ours is 400 with the server's words."""
    with pytest.raises(StatusError) as raised:
        continue_token.decode(token)
    assert str(raised.value) == f"invalid continue token: continue key is not valid: {message}"


def test_a_token_without_a_key() -> None:
    """A token has to have the place to go on from."""
    with pytest.raises(StatusError, match="encoded start key empty"):
        continue_token.decode(Continue(5, "").encode())
