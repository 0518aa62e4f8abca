from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cel.network import address, network, url
from handloop_sandbox.cel.rule import compile_rule
from handloop_sandbox.cel.values import CelError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("url('https://u@a.b:80/c%20d?x=1&x=2&y=#f').getScheme()", "https"),
        ("url('https://a.b:80/c%20d?x=1&x=2').getHost()", "a.b:80"),
        ("url('https://[::1]:80/').getHostname()", "::1"),
        ("url('https://a.b:80/').getPort()", "80"),
        ("url('/c%20d?x').getEscapedPath()", "/c%20d"),
        ("url('https://a/?x=1&x=2&y').getQuery()", {"x": ["1", "2"], "y": [""]}),
        ("isURL('a/b') || isURL('') || isURL('https://a b/')", False),
        ("ip('1.2.3.4').family()", 4),
        ("ip('::1').isLoopback() && ip('0.0.0.0').isUnspecified()", True),
        ("ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", True),
        ("ip('169.254.1.1').isLinkLocalUnicast() && !ip('169.254.1.1').isGlobalUnicast()", True),
        ("ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", True),
        ("isIP('::ffff:1.2.3.4') || isIP('fe80::1%eth0') || isIP('1.2.3.04')", False),
        ("ip.isCanonical('::1') && !ip.isCanonical('0::1')", True),
        ("string(ip('0::1')) + string(cidr('1.2.3.4/8'))", "::11.2.3.4/8"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))", True),
        (
            "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/9') != cidr('10.1.0.0/9').containsCIDR('10.0.0.0/8')",
            True,
        ),
        ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8", True),
        ("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", True),
        ("isCIDR('10.0.0.0/255.0.0.0') || isCIDR('10.0.0.0') || isCIDR('10.0.0.0/33')", False),
    ],
)
def test_addresses(text: str, value: Any) -> None:
    """URLs, addresses and networks have their parts."""
    assert compile_rule(text)({}) == value


def test_errors_name_the_text() -> None:
    """As Go's parsers do."""
    with pytest.raises(CelError, match='parse "a b": invalid URI for request'):
        url("a b")
    with pytest.raises(CelError, match='IP Address "x" parse error'):
        address("x")
    with pytest.raises(CelError, match="no '/'"):
        network("x")
