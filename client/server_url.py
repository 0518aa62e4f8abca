"""
Checks the addresses of servers and proxies, shows them without secrets, and finds a server's proxy.

Follows: golang.org/x/net/http/httpproxy, for proxies. Loopback addresses are never proxied. NO_PROXY accepts
names, .suffixes, *.suffixes, addresses, and networks such as 10.0.0.0/8. All of them except networks can have
a port. Any other entry is ignored.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from handloop.client.auth.tls import TLSOptions
from handloop.client.errors import ConfigError, ConfigProblem

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_PATH: Final = re.compile(r"[/?#]")
_NAME_AND_PORT: Final = re.compile(r"(\[(?P<bracketed>[^][]*)\]|(?P<name>[^][:]*)):(?P<port>[^][:]*)")
_HOST_AND_PORT: Final = re.compile(r"(\[[\w.:%]*\]|[\w.-]*)(:\d*)?")


def server_url(server: str, tls: TLSOptions) -> str:
    """
    Return a server's URL. If the scheme is missing, it becomes https if a TLS option is set, otherwise http.

    Raises: ConfigError for anything that is not a server's URL.
    """
    secure = bool(tls.ca or tls.ca_file or tls.key_pair or tls.insecure_skip_verify)
    text = server if "://" in server else f"{'https' if secure else 'http'}://{server}"
    if flaw := _flaw(text):
        raise ConfigError(
            ConfigProblem.SERVER,
            f'cannot use the server address "{shown_server(server)}"',
            cause=flaw,
            fix="it must look like https://10.0.0.1:6443; put a password or token into the user's entry",
        )
    return text.rstrip("/")


def shown_server(url: str) -> str:
    """
    Return a URL as messages show it: `scheme://host:port`, with `...` in place of a doubtful host.

    A host is doubtful if it may be a user name or a part of a password. The other parts can be secret, too:
    the user name, password and query, and also the path, as in the sandbox's URL.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        scheme, separator, rest = "", "", url
    authority = _PATH.split(rest, maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    # If a URL's password contains a slash, its user name looks like the host.
    in_doubt = "@" in rest[len(authority) :] or not _HOST_AND_PORT.fullmatch(host)
    return f"{scheme}{separator}{'...' if in_doubt else host}"


def _flaw(url: str) -> str:
    """Return what is wrong with a server's URL, without quoting the URL, or "" if it is valid."""
    if flaw := proxy_flaw(url):
        return flaw
    parts = urlsplit(url)
    if "@" in parts.netloc:
        return "it contains a user name or a password"
    return "it contains a query or a fragment" if parts.query or parts.fragment else ""


def proxy_flaw(url: str) -> str:
    """Return what is wrong with a proxy's URL, or "" if it is valid. A user name and password are allowed."""
    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.port != 0 and url.isprintable()
        if ":" not in (host := parts.hostname or ""):
            host.rstrip(".").encode("idna")
    except UnicodeError:
        return "a part of its host name is empty or longer than 63 characters"
    except ValueError:
        return "it is not a URL with a host"
    if parts.scheme.startswith("socks"):
        return "SOCKS is not supported; the URL must begin with http:// or https://"
    if parts.scheme not in ("http", "https"):
        return "it begins with neither http:// nor https://"
    return "" if usable else "it is not a URL with a host"


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> str:
    """Return the proxy that the environment sets for a server, or "" for none."""
    url = urlsplit(server)
    name = f"{url.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name) or ""
    if not proxy or _is_direct(url, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_direct(url: SplitResult, no_proxy: str) -> bool:
    host = unquote(url.hostname or "")
    ip, port = _address(host.partition("%")[0]), str(url.port or {"https": 443, "http": 80}.get(url.scheme))
    if host == "localhost" or (ip is not None and ip.is_loopback):
        return True
    entries = [entry.strip().lower() for entry in no_proxy.split(",")]
    return "*" in entries or any(_excludes(entry, _in_ascii(host), ip, port) for entry in entries)


def _excludes(entry: str, host: str, ip: _Address | None, port: str) -> bool:
    if (network := _network(entry)) is not None:
        return ip is not None and ip in network
    if found := _NAME_AND_PORT.fullmatch(entry):
        name, wanted = found["bracketed"] or found["name"] or "", found["port"]
    else:
        name, wanted = entry, ""
    if not name or wanted not in ("", port):
        return False
    address = None if "%" in name else _address(name)
    if address is not None or ip is not None:
        return address == ip
    name = _in_ascii(name.removeprefix("*") if name.startswith("*.") else name)
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _address(text: str) -> _Address | None:
    """Return an IPv4 or IPv6 address. An IPv4-mapped IPv6 address becomes an IPv4 address."""
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None) or ip


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    address, _, bits = text.partition("/")
    # Go does not accept 10.0.0.0/255.0.0.0 as a network.
    if (found := _address(address)) is None or not bits.isdecimal():
        return None
    mapped = ":" in address and isinstance(found, ipaddress.IPv4Address)
    try:
        return ipaddress.ip_network((found, int(bits) - (96 if mapped else 0)), strict=False)
    except ValueError:
        return None


def _in_ascii(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host
