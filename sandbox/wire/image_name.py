"""
Names of container images, as far as the pull policy depends on them.

Follows: github.com/distribution/reference (ParseNormalizedNamed) and kubernetes pkg/util/parsers.
"""

from __future__ import annotations

import re

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])"
_NAME = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?P<tag>:[\w][\w.-]{0,127})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


def tag_of(image: str) -> str:
    """
    The tag; `latest` when there is neither tag nor digest; "" for a digest alone and for what is no image
    name.
    """
    found = _NAME.fullmatch(image)
    if found is None or re.fullmatch(r"[a-f0-9]{64}", image):
        return ""
    if found["tag"]:
        return found["tag"][1:]
    return "" if found["digest"] else "latest"


def pull_policy(image: str) -> str:
    """The imagePullPolicy of a container that names none."""
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"
