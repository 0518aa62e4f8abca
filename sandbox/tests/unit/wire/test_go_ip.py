from __future__ import annotations

import pytest

from handloop_sandbox.wire.go_ip import address_problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1::2.3.4.5.6", "IPv4 address too long"),
        ("1:2.3.4.5", "embedded IPv4 address must replace the final 2 fields of the address"),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1g::", "unexpected character, want colon"),
        ("0999.1.1.1", "IPv4 field has octet with leading zero"),
        ("9" * 5000, "unable to parse IP"),
        ("1.2.3." + "9" * 5000, "IPv4 field has value >255"),
    ],
)
def test_the_rarer_words(text: str, problem: str) -> None:
    """The others are recorded in the contract tests of expressions."""
    assert problem in address_problem(text)
