from __future__ import annotations

from handloop_sandbox.cel.declarations import functions
from handloop_sandbox.cel.functions import FUNCTIONS, METHODS
from handloop_sandbox.cel.rule import compile_rule
from handloop_sandbox.cel.types import read_type


def test_every_declared_function_can_be_called() -> None:
    """And no other is known; operators are compiled by their symbols."""
    named = {name: found for name, found in functions().items() if name[0] == "@" or name[-1] not in "_]"}
    plain = {name for name, found in named.items() if not all(overload.is_method for overload in found)}
    methods = {name for name, found in named.items() if any(overload.is_method for overload in found)}
    assert plain - {"@in", "@not_strictly_false"} == set(FUNCTIONS)
    assert methods == set(METHODS)
    assert compile_rule("1 in [1]")({}) is True


def test_variants_have_types_of_their_own() -> None:
    """The variables of one call are not those of another."""
    (variant,) = functions()["optional.of"]
    assert variant.instance(5) == (
        (read_type("V")._replace(name="%_var5"),),
        read_type("optional_type(A)")._replace(params=(read_type("V")._replace(name="%_var5"),)),
    )
    assert [str(overload.result) for overload in functions()["sum"]] == ["int", "uint", "double", "duration"]
