"""
Which proxy leads to a server: the kubeconfig's proxy-url, else $HTTPS_PROXY and $HTTP_PROXY less $NO_PROXY.

Follows: golang.org/x/net/http/httpproxy: loopback is never proxied, NO_PROXY takes names, .suffixes,
addresses, networks and host:port.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> str:
    """The proxy for server that the environment names, "" for none."""
    url = urlsplit(server)
    name = f"{url.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name) or ""
    if not proxy or _is_loopback(url.hostname or "") or _excluded(url, environ):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _excluded(url: SplitResult, environ: Mapping[str, str]) -> bool:
    text = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    entries = (entry.strip().lower() for entry in text.split(","))
    return any(_matches(entry, url) for entry in entries if entry)


def _matches(entry: str, url: SplitResult) -> bool:
    if entry == "*":
        return True
    host = (url.hostname or "").lower()
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        pass
    name, _, port = entry.rpartition(":")
    if name and port.isdigit() and "]" not in port:
        if int(port) != (url.port or {"https": 443, "http": 80}.get(url.scheme)):
            return False
        entry = name.strip("[]")
    suffix = entry.removeprefix("*")
    bare = suffix.removeprefix(".")
    return host.endswith("." + bare) or (host == bare and not suffix.startswith("."))
