"""A Foo controller, as the picture shows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.rigs.foo_program import FooProgram


@pytest.fixture
def program() -> Iterator[FooProgram]:
    with FooProgram().running() as program:
        yield program
