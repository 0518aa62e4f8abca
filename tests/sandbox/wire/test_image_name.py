from __future__ import annotations

import pytest

from handloop.sandbox.wire.image_name import pull_policy, tag_of

_DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:1.25", "1.25"),
        ("library/nginx", "latest"),
        ("registry:5000/nginx", "latest"),
        ("registry:5000/a/nginx:v1", "v1"),
        ("[fd00::1]:5000/nginx:v1", "v1"),
        (f"nginx@{_DIGEST}", ""),
        (f"nginx:1@{_DIGEST}", "1"),
        ("", ""),
        ("Nginx", ""),
        ("nginx:", ""),
        ("nginx:-a", ""),
        ("a//b", ""),
        ("0" * 64, ""),
    ],
)
def test_tags(image: str, tag: str) -> None:
    """No tag is latest, a digest alone and what is no name has none."""
    assert tag_of(image) == tag


@pytest.mark.parametrize(
    ("image", "policy"),
    [("nginx", "Always"), ("nginx:latest", "Always"), ("nginx:1", "IfNotPresent"), ("N", "IfNotPresent")],
)
def test_pull_policies(image: str, policy: str) -> None:
    """What is latest is always pulled."""
    assert pull_policy(image) == policy
