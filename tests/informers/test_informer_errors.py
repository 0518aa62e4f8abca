"""What an informer refuses; that it does is in test_shared_informer.py."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.informer_errors import InformerError, InformerStopped, MutableKind


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InformerStopped("too late"), "too late"),
        (MutableKind(Deployment, ("spec.a", "b")), "Deployment is mutable at spec.a, b: cached objects"),
    ],
    ids=["stopped", "mutable"],
)
def test_every_refusal_gives_the_reason(error: InformerError, text: str) -> None:
    """All of them are InformerErrors."""
    assert str(error).startswith(text)


def test_a_mutable_kind_is_a_type_error() -> None:
    """It is a mistake in a program, and is met where an informer is made."""
    assert issubclass(MutableKind, TypeError)
