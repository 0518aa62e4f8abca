from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cel.rule import compile_rule
from handloop_sandbox.cel.values import CelError


def _value(text: str) -> Any:
    return compile_rule(text)({})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("size('héé')", 3),
        ("[1, 2].size()", 2),
        ("'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b')", True),
        ("'a1b22'.matches('[0-9]+$')", True),
        ("'a1b22'.find('[0-9]+')", "1"),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
        ("'AbC'.lowerAscii() + 'x'.upperAscii()", "abcX"),
        ("' a '.trim()", "a"),
        ("'aXa'.replace('a', 'b', 1)", "bXa"),
        ("'a,b,c'.split(',')", ["a", "b", "c"]),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("['a', 'b'].join('-')", "a-b"),
        ("'abcd'.substring(1, 3)", "bc"),
        ("'abc'.charAt(1)", "b"),
        ("'abcb'.indexOf('b')", 1),
        ("'abcb'.lastIndexOf('b')", 3),
        ("[1, 2, 1].indexOf(1)", 0),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[1, 2].isSorted()", True),
        ("[1, 2].sum() + [3, 1].max() + [3, 1].min()", 7),
        ("[1, 1, 2].distinct()", [1, 2]),
        ("[[1], [2]].flatten()", [1, 2]),
        ("int('5') + int(2.7)", 7),
        ("double('1.5')", 1.5),
        ("string(5) + string(true) + string(1.5)", "5true1.5"),
        ("bool('true')", True),
        ("duration('1h') < duration('90m')", True),
        ("timestamp('2026-01-02T03:04:05Z').getFullYear()", 2026),
        ("timestamp('2026-01-02T03:04:05Z').getMonth()", 0),
        ("timestamp('2026-01-04T03:04:05Z').getDayOfWeek()", 0),
        ("duration('90m').getHours()", 1),
        ("timestamp('2026-01-02T00:00:00Z') + duration('24h') == timestamp('2026-01-03T00:00:00Z')", True),
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", True),
        ("quantity('1').add(quantity('500m')).compareTo(quantity('1500m'))", 0),
        ("isQuantity('x') || isIP('x') || isCIDR('10.0.0.0')", False),
        ("isIP('::1') && isCIDR('10.0.0.0/8')", True),
        ("sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])", True),
        ("optional.of(1).value() + optional.none().orValue(2)", 3),
    ],
)
def test_functions(text: str, value: Any) -> None:
    """The functions of the language and of Kubernetes' libraries."""
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("double('x')", "type conversion error from 'string' to 'double'"),
        ("bool('x')", "type conversion error from 'string' to 'bool'"),
        ("duration('x')", "from 'string' to 'google.protobuf.Duration'"),
        ("timestamp('x')", "from 'string' to 'google.protobuf.Timestamp'"),
        ("quantity('x')", "quantities must match"),
        ("'a'.matches('(')", "error parsing regexp"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("[].max()", "max called on empty list"),
        ("optional.none().value()", "dereference"),
        ("size(5)", "no such overload: size"),
        ("(5).startsWith('a')", "no such overload"),
    ],
)
def test_functions_that_cannot(text: str, message: str) -> None:
    """Arguments that do not fit raise."""
    with pytest.raises(CelError, match=message):
        _value(text)


def test_nothing_has_the_methods_of_an_authorizer() -> None:
    """A rule of a definition may call them on a value of any type, and fails then."""
    with pytest.raises(CelError, match="no such overload"):
        compile_rule("dyn(self).group('').resource('pods').check('get').allowed()")({"self": "x"})
