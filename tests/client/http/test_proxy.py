from __future__ import annotations

import pytest

from handloop.client.http.proxy import proxy_from_environment

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://k8s.example:6443", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://k8s.example:6443", {"https_proxy": PROXY}, PROXY),
        ("https://k8s.example:6443", {"HTTP_PROXY": PROXY}, ""),
        ("http://k8s.example", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://k8s.example", {"HTTPS_PROXY": "proxy:3128"}, PROXY),
        ("https://k8s.example", {}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, ""),
    ],
)
def test_the_scheme_picks_the_variable(server: str, environ: dict[str, str], expected: str) -> None:
    """T39: HTTPS_PROXY for https, HTTP_PROXY for http, nothing for loopback."""
    assert proxy_from_environment(server, environ) == expected


@pytest.mark.parametrize(
    ("server", "no_proxy", "excluded"),
    [
        ("https://k8s.example", "*", True),
        ("https://k8s.example", "k8s.example", True),
        ("https://k8s.example", "other.example, k8s.example", True),
        ("https://a.k8s.example", "k8s.example", True),
        ("https://a.k8s.example", ".k8s.example", True),
        ("https://k8s.example", ".k8s.example", False),
        ("https://a.k8s.example", "*.k8s.example", True),
        ("https://notk8s.example", "k8s.example", False),
        ("https://10.1.2.3:6443", "10.0.0.0/8", True),
        ("https://11.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://k8s.example", "k8s.example:443", True),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://k8s.example", "", False),
        ("https://k8s.example", ",,", False),
    ],
)
def test_no_proxy(server: str, no_proxy: str, excluded: bool) -> None:
    """T39: NO_PROXY takes names, suffixes, addresses, networks and ports."""
    for name in ("NO_PROXY", "no_proxy"):
        found = proxy_from_environment(server, {"HTTPS_PROXY": PROXY, name: no_proxy})
        assert found == ("" if excluded else PROXY)
