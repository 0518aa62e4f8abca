from __future__ import annotations

import pytest

from handloop.client.auth.tls import TLSOptions
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.client.server_url import proxy_from_environment, server_url, shown_server

LABEL = "a part of its host name is empty or longer than 63 characters"
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
    """HTTPS_PROXY for https, HTTP_PROXY for http, nothing for loopback."""
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
        ("https://k8s.example", "*k8s.example", False),
        ("https://k8s.example", "*.k8s.example", False),
        ("https://k8s.example", "a,*,b", True),
        ("https://k8s.example", "*:443", False),
        ("https://k8s.example", "k8s.example:", True),
        ("https://k8s.example", "K8S.Example", True),
        ("https://k8s.example", ".", False),
        ("https://k8s.example:6443", "k8s.example:443", False),
        ("https://a.k8s.example:6443", ".k8s.example:6443", True),
        ("https://k8s.example", "0.0.0.0/0", False),
        ("https://10.1.2.3:6443", "10.0.0.0/255.0.0.0", False),
        ("https://10.1.2.3:6443", "10.1.2.3/8", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8:6443", False),
        ("https://10.1.2.3:6443", "1.2.3", False),
        ("https://10.1.2.3:6443", ".2.3", False),
        ("https://10.1.2.3:6443", "::ffff:10.0.0.0/104", True),
        ("https://10.1.2.3:6443", "[10.1.2.3]:6443", True),
        ("https://[::ffff:10.1.2.3]:6443", "10.0.0.0/8", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]:6443", "[fd00::1]", False),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fe80::1%25eth0]", "fe80::/10", True),
        ("https://[fe80::1%25eth0]", "fe80::1%eth0", False),
        ("https://[::ffff:127.0.0.1]", "", True),
        ("https://bücher.example", "xn--bcher-kva.example", True),
    ],
)
def test_no_proxy(server: str, no_proxy: str, excluded: bool) -> None:
    """NO_PROXY takes names, suffixes, addresses, networks and ports, as Go reads them."""
    for name in ("NO_PROXY", "no_proxy"):
        found = proxy_from_environment(server, {"HTTPS_PROXY": PROXY, name: no_proxy})
        assert found == ("" if excluded else PROXY)


@pytest.mark.parametrize(
    ("server", "secure", "url"),
    [
        ("https://h:6443", False, "https://h:6443"),
        ("https://h:6443/", False, "https://h:6443"),
        ("https://h/k8s/clusters/c-1", False, "https://h/k8s/clusters/c-1"),
        ("h:6443", False, "http://h:6443"),
        ("h:6443", True, "https://h:6443"),
        ("https://[::1]:6443", False, "https://[::1]:6443"),
    ],
)
def test_server_urls(server: str, secure: bool, url: str) -> None:
    """A server without a scheme is https if TLS is configured, else http."""
    assert server_url(server, TLSOptions(ca=b"x") if secure else TLSOptions()) == url


@pytest.mark.parametrize(
    "server",
    [
        "file:///etc/passwd",
        "ftp://h",
        "https://",
        "https://h:99999",
        "https://h:x",
        "https://u:p@h",
        "https://h?q",
        "https://h#f",
        "https://h\n",
        "https://h:0",
        "https://:p@h",
        "https://@h",
    ],
)
def test_what_is_no_server(server: str) -> None:
    """Only http and https servers, without a query, a fragment or a password in them."""
    with pytest.raises(ConfigError) as caught:
        server_url(server, TLSOptions())
    assert caught.value.kind is ConfigProblem.SERVER


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h:6443", "https://h:6443"),
        ("https://[fe80::1%25eth0]:6443/path", "https://[fe80::1%25eth0]:6443"),
        ("http://127.0.0.1:1234/secret", "http://127.0.0.1:1234"),
        ("h:6443", "h:6443"),
        ("nowhere", "nowhere"),
        ("/path", ""),
        ("https://admin:canary@h:6443/canary", "https://h:6443"),
        ("https://canary@h", "https://h"),
        ("admin:canary@h", "h"),
        ("https://h/?token=canary", "https://h"),
        ("https://h#canary", "https://h"),
        ("socks5://u:canary@p:1080", "socks5://p:1080"),
        # the place of the host is unknown
        ("https://admin:canary", "https://..."),
        ("https://admin:can/ary@h", "https://..."),
        ("https://admin:can?ary@h", "https://..."),
        ("https://h?password=p@canary", "https://..."),
        ("https:/admin:canary@h", "..."),
        ("https://https://admin:canary@h", "https://..."),
        ("canary:canary://x", "..."),
        ("https://h\ncanary", "https://..."),
    ],
)
def test_what_is_shown_of_a_url(url: str, shown: str) -> None:
    """Scheme, host and port; a user name, a password, a path and a query may be secrets."""
    assert shown_server(url) == shown


@pytest.mark.parametrize(
    ("server", "shown", "cause"),
    [
        ("https://admin:canary@h:1", "https://h:1", "it contains a user name or a password"),
        ("https://h?token=canary", "https://h", "it contains a query or a fragment"),
        ("https://admin:canary", "https://...", "it is not a URL with a host"),
        ("https://[canary@h", "https://h", "it is not a URL with a host"),
        (f"https://{'h' * 64}.x", f"https://{'h' * 64}.x", LABEL),
        ("https://h..x", "https://h..x", LABEL),
        ("ftp://u:canary@h", "ftp://h", "it begins with neither http:// nor https://"),
    ],
)
def test_a_refused_server_shows_no_secret(server: str, shown: str, cause: str) -> None:
    """The refusal names the fault of the address, and nothing of it that may be a secret."""
    with pytest.raises(ConfigError) as caught:
        server_url(server, TLSOptions())
    assert caught.value.message == f'cannot use the server address "{shown}"'
    assert caught.value.cause == cause
    assert caught.value.fix
