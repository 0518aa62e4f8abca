"""Texts that others have written, as long as they like."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

PACKAGES: Final = (
    "apis",
    "client",
    "informers",
    "workqueue",
    "controller.runtime",
    "controller.myapp",
    "seams",
)
OF_AUTHORS: Final = ("handloop.apis.go_pattern",)
"""It reads patterns that stand in a program, not in an object."""
LENGTH: Final = 100_000
UNITS: Final = ("a", "1", "-", ".", " ", "/", "a.", "a-", "1.", "\n", "\\", "[", '{"', "\x1b[", "a=", "a:")
Pattern = re.Pattern[Any]


def patterns() -> Iterator[tuple[str, Pattern]]:
    """Each pattern of our modules, and those that our kinds' schemas and types have."""
    for package in PACKAGES:
        found = importlib.import_module(f"handloop.{package}")
        names = [found.__name__]
        names += [each.name for each in pkgutil.walk_packages(found.__path__, f"{found.__name__}.")]
        for name in names:
            if name not in OF_AUTHORS:
                for value in vars(importlib.import_module(name)).values():
                    owner = value if isinstance(value, re.Pattern) else getattr(value, "__self__", None)
                    if isinstance(owner, re.Pattern):
                        yield name, owner
    for kind in (Foo, MyApp):
        for text in re.findall(r"'pattern': '([^']+)'", str(custom_resource_definition(kind))):
            yield kind.__name__, re.compile(text.replace("\\\\", "\\"))


FOUND: Final = {each.pattern: (name, each) for name, each in patterns()}


@pytest.mark.parametrize(("name", "pattern"), FOUND.values(), ids=[name for name, _ in FOUND.values()])
def test_every_pattern_takes_linear_time(name: str, pattern: Pattern) -> None:
    """One that goes back over a text for each of its letters would not come to its end."""
    for unit in UNITS:
        text: Any = unit * (LENGTH // len(unit)) + "\x00"
        text = text.encode() if isinstance(pattern.pattern, bytes) else text
        whole = pattern.fullmatch(text)
        assert pattern.match(text) or whole is None, name
