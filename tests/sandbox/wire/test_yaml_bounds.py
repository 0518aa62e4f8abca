from __future__ import annotations

import pytest
import yaml

from handloop.sandbox.wire import yaml_bounds
from handloop.sandbox.wire.yaml_bounds import TooMuchError


def _bomb(levels: int) -> str:
    """Ten times as much a level."""
    names = "abcdefghijkl"
    first = "a: &a [x,x,x,x,x,x,x,x,x,x]"
    rest = (f"{names[i]}: &{names[i]} [{','.join([f'*{names[i - 1]}'] * 10)}]" for i in range(1, levels))
    return "\n".join((first, *rest))


@pytest.mark.parametrize(
    "text",
    ["", "a: 1", "a: &x [1, 2]\nb: *x\n", _bomb(4), "[" * 900 + "]" * 900, "- a\n" * 2000, "a: '*'\n"],
)
def test_ordinary_texts_pass(text: str) -> None:
    """Anchors, long lists and some depth are nothing unusual."""
    yaml_bounds.check(text)


@pytest.mark.parametrize("text", [_bomb(8), _bomb(12), f"base: &b [1]\n{_bomb(7)}"])
def test_bombs_are_refused(text: str) -> None:
    """D: a few hundred bytes that mean millions of values."""
    assert len(text) < 1000
    with pytest.raises(TooMuchError, match="excessive aliasing"):
        yaml_bounds.check(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 5000 + "x", "? " * 5000 + "x"])
def test_depth_is_bounded(text: str) -> None:
    """The parser's own stack is not reached."""
    with pytest.raises(TooMuchError, match="exceeded max depth"):
        yaml_bounds.check(text)


def test_an_alias_to_nothing_is_for_the_parser() -> None:
    """It counts as one; what is no YAML raises as ever."""
    yaml_bounds.check("a: *nothing")
    with pytest.raises(yaml.YAMLError):
        yaml_bounds.check("a: [*b" + "{" * 600)
