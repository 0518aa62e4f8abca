from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cel.rule import compile_rule
from handloop_sandbox.cel.texts import printf
from handloop_sandbox.cel.values import CelError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.dns1123Label().validate('a.b').hasValue()", True),
        ("format.dns1123LabelPrefix().validate('a-').hasValue()", False),
        ("format.uuid().validate('x').value()", ["does not match the UUID format"]),
        ("format.uri().validate('x').value()", ['parse "x": invalid URI for request']),
        ("format.named('labelValue').value() == format.labelValue()", True),
        ("format.named('odd').hasValue()", False),
        ("semver('1.2.3').minor() + semver('1.2.3').patch()", 5),
        ("semver('1.10.0').isGreaterThan(semver('1.9.0'))", True),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("semver('1.0.0-2').compareTo(semver('1.0.0-a'))", -1),
        ("isSemver('v1.2') || isSemver('1.02.3')", False),
        ("semver('v1.02', true) == semver('1.2.0')", True),
        ("'%s %d %.2f %x %X %% %b'.format(['a', 5, 1.5, 255, 'k', 2])", "a 5 1.50 ff 6B % 10"),
        ("'%s'.format([true])", "true"),
        ("strings.quote('a\"\\n')", '"a\\"\\n"'),
    ],
)
def test_texts(text: str, value: Any) -> None:
    """Formats, versions and what printf makes."""
    assert compile_rule(text)({}) == value


def test_printf_wants_its_values() -> None:
    """One for each verb, of its kind."""
    with pytest.raises(CelError, match="index 0 out of range"):
        printf("%s", [], str)
    with pytest.raises(CelError, match="decimal clause can only be used on integers"):
        printf("%d", ["a"], str)
