"""
Builds one configuration from flags, the environment and files.

Order: --kubeconfig, or else $KUBECONFIG (a list that is merged), or else ~/.kube/config; if these are empty,
the service account of our pod. --master and --context override the result.
Follows: client-go tools/clientcmd (client_config.go, merged_client_builder.go, validation.go) @32ce75a7d.
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from handloop.client.auth.credentials import Credentials, StaticCredentials
from handloop.client.auth.in_cluster import (
    SERVICE_ACCOUNT,
    in_cluster_ca,
    in_cluster_namespace,
    in_cluster_possible,
    in_cluster_server,
    in_cluster_token,
)
from handloop.client.auth.kubeconfig import (
    Cluster,
    Context,
    Kubeconfig,
    User,
    merge,
    raw_cluster,
    read_kubeconfig,
)
from handloop.client.auth.tls import KeyPair, TLSOptions
from handloop.client.auth.user import credentials_for, decode_base64, impersonation_headers, key_pair_for
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.client.server_url import proxy_flaw, proxy_from_environment, server_url, shown_server
from handloop.seams.clock import REAL_CLOCK
from handloop.seams.logs import get_logger

log = get_logger("client")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """
    How to reach an API server, and as which user.

    host is `scheme://host:port` with an optional path; source describes where the configuration comes from.
    If disable_compression is true, requests ask for responses without gzip. They then also ask for
    managedFields, which the client does not use. The repr contains no secrets.
    """

    host: str
    tls: TLSOptions = field(default_factory=TLSOptions)
    tls_server_name: str = ""
    proxy_url: str = field(default="", repr=False)
    disable_compression: bool = False
    credentials: Credentials = field(default_factory=StaticCredentials, repr=False)
    impersonate: tuple[tuple[str, str], ...] = ()
    namespace: str = "default"
    context_name: str = ""
    cluster_name: str = ""
    user_name: str = ""
    source: str = ""


def load_config(
    *,
    kubeconfig: str | None = None,
    master: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    home: str | None = None,
    service_account: str = SERVICE_ACCOUNT,
    stop: threading.Event | None = None,
) -> ClientConfig:
    """
    Find the configuration.

    Args: kubeconfig is one path, master is a server URL, and context is a name in the kubeconfig; "" means
    the same as None. home and service_account are the folders of the default files. The program sets stop
    when it shuts down. That ends the wait for a kubeconfig that is a pipe, and later any running login
    program.
    Raises: ConfigError, whose fields describe the problem for the message catalog.
    Blocks: if the kubeconfig is a pipe, for at most a minute.
    """
    stop = stop or threading.Event()
    found = _find(kubeconfig or "", environ, home or _home(), stop)
    name = context or found.config.current_context
    if not name and not master:
        if in_cluster_possible(environ, service_account):
            return _in_cluster(environ, service_account)
        raise _no_context(found.config) if found.config.contexts else _nothing(found, service_account)
    return _from_kubeconfig(found, name, master or "", environ, stop)


def _home() -> str:
    """Return our home folder. If we have none, it is the working directory, as in client-go."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises if there is none
    return "" if home == "~" else home


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of the search for kubeconfigs. looked_in pairs each place with what was found there."""

    config: Kubeconfig
    source: str
    looked_in: tuple[tuple[str, str], ...]


def _find(kubeconfig: str, environ: Mapping[str, str], home: str, stop: threading.Event) -> _Found:
    if kubeconfig:
        config = read_kubeconfig(kubeconfig, stop=stop)
        return _Found(config, _short(kubeconfig, home), (("--kubeconfig", kubeconfig),))
    not_given = ("--kubeconfig", "not given")
    listed = [path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    if listed:
        return _find_listed(list(dict.fromkeys(listed)), home, not_given, stop)
    default = str(Path(home, ".kube", "config"))
    config = read_kubeconfig(default, required=False, stop=stop)
    state = ("empty" if config.files else "missing") if config.empty else "found"
    looked_in = (not_given, ("$KUBECONFIG", "unset"), ("~/.kube/config", state))
    return _Found(config, _short(default, home), looked_in)


def _find_listed(paths: list[str], home: str, not_given: tuple[str, str], stop: threading.Event) -> _Found:
    config = merge(read_kubeconfig(path, required=False, stop=stop) for path in paths)
    if not config.files:
        log.warning("Config not found", kubeconfig=os.pathsep.join(paths))
    state = "found" if not config.empty else "empty" if config.files else "missing"
    looked_in = (not_given, ("$KUBECONFIG", f"{os.pathsep.join(paths)}: {state}"))
    return _Found(config, os.pathsep.join(_short(path, home) for path in config.files), looked_in)


def _short(path: str, home: str) -> str:
    return "~" + path.removeprefix(home) if home and path.startswith(home.rstrip("/") + "/") else path


def _in_cluster(environ: Mapping[str, str], folder: str) -> ClientConfig:
    server = server_url(in_cluster_server(environ), TLSOptions())
    return ClientConfig(
        host=server,
        tls=TLSOptions(ca_file=in_cluster_ca(folder)),
        proxy_url=_proxy(Cluster(), server, environ),
        credentials=in_cluster_token(folder, REAL_CLOCK),
        namespace=in_cluster_namespace(environ, folder),
        source="in-cluster",
    )


def _from_kubeconfig(
    found: _Found, name: str, master: str, environ: Mapping[str, str], stop: threading.Event
) -> ClientConfig:
    config = found.config
    if name and name not in config.contexts:
        raise _unknown_context(name, config)
    context = config.contexts.get(name, Context())
    cluster = _cluster(config, name, context.cluster, master)
    user = _user(config, name, context.user)
    tls = _tls(cluster, context.cluster, key_pair_for(user, context.user))
    server = server_url(cluster.server, tls)
    return ClientConfig(
        host=server,
        tls=tls,
        tls_server_name=cluster.tls_server_name,
        proxy_url=_proxy(cluster, server, environ),
        disable_compression=_is_true(
            cluster.disable_compression, f'cluster "{context.cluster}": disable-compression'
        ),
        credentials=credentials_for(
            user,
            context.user,
            file=config.user_files.get(context.user, ""),
            plugin_cluster=lambda: raw_cluster(config.cluster_texts[context.cluster], context.cluster),
            stop=stop,
            clock=REAL_CLOCK,
        ),
        impersonate=impersonation_headers(user, context.user),
        namespace=context.namespace or "default",
        context_name=name,
        cluster_name=context.cluster,
        user_name=context.user,
        source=found.source if name else "--master",
    )


def _cluster(config: Kubeconfig, context: str, name: str, master: str) -> Cluster:
    cluster = config.clusters.get(name)
    if cluster is None and name:
        raise _unknown_reference(context, "cluster", name, config.clusters)
    cluster = cluster or Cluster()
    if master:
        # tls-server-name belongs to the server that --master replaces.
        return msgspec.structs.replace(cluster, server=master, tls_server_name="")
    if not cluster.server:
        what = f'context "{context}" names no cluster' if not name else f'cluster "{name}" has no server'
        raise ConfigError(ConfigProblem.SERVER, what, fix="set the cluster's server in the kubeconfig")
    return cluster


def _user(config: Kubeconfig, context: str, name: str) -> User:
    user = config.users.get(name)
    if user is None and name:
        raise _unknown_reference(context, "user", name, config.users)
    return user or User()


def _tls(cluster: Cluster, name: str, key_pair: KeyPair) -> TLSOptions:
    where = f'cluster "{name}"'
    insecure = _is_true(cluster.insecure_skip_tls_verify, f"{where}: insecure-skip-tls-verify")
    given = [cluster.certificate_authority, cluster.certificate_authority_data]
    if all(given):
        cause = "certificate-authority and certificate-authority-data are both given"
        raise ConfigError(ConfigProblem.CERTIFICATE, f"{where} is ambiguous", cause=cause)
    if insecure and any(given):
        cause = "a CA and insecure-skip-tls-verify cannot be combined"
        raise ConfigError(ConfigProblem.CERTIFICATE, f"{where} is ambiguous", cause=cause)
    return TLSOptions(
        ca=decode_base64(given[1], f'clusters["{name}"].certificate-authority-data'),
        ca_file=given[0],
        key_pair=key_pair,
        insecure_skip_verify=insecure,
    )


def _is_true(word: str, what: str) -> bool:
    lower = word.lower()
    if lower not in ("", "true", "false"):
        raise ConfigError(ConfigProblem.MALFORMED, f"{what} is {lower}, not true or false")
    return lower == "true"


def _proxy(cluster: Cluster, server: str, environ: Mapping[str, str]) -> str:
    proxy = cluster.proxy_url or proxy_from_environment(server, environ)
    flaw = proxy and proxy_flaw(proxy)
    if flaw:
        place = "proxy-url" if cluster.proxy_url else f"${urlsplit(server).scheme.upper()}_PROXY"
        raise ConfigError(
            ConfigProblem.SERVER,
            f'cannot use the proxy "{shown_server(proxy)}" of {place}',
            cause=flaw,
            fix="it must look like http://proxy:3128; in a password, write special characters like / as %2F",
        )
    return proxy


def _nothing(found: _Found, service_account: str) -> ConfigError:
    token = Path(service_account, "token")
    state = "present, but not in a cluster" if token.exists() else "missing"
    looked_in = (*found.looked_in, ("in-cluster token", state))
    return ConfigError(
        ConfigProblem.NOT_FOUND,
        "no cluster configuration found",
        cause="looked in: " + ", ".join(f"{place} ({state})" for place, state in looked_in),
        fix="export KUBECONFIG=PATH, or write the kubeconfig to ~/.kube/config",
        looked_in=looked_in,
    )


def _no_context(config: Kubeconfig) -> ConfigError:
    first = min(config.contexts)
    fix = f"kubectl config use-context {first}, or: --context {first}"
    return _context_error("no current context in kubeconfig", config, fix=fix)


def _unknown_context(name: str, config: Kubeconfig) -> ConfigError:
    close = difflib.get_close_matches(name, sorted(config.contexts), n=1)
    cause = f"did you mean {close[0]}?" if close else ""
    fix = f"{cause} --context {close[0]}" if close else "kubectl config get-contexts"
    return _context_error(f'context "{name}" not in kubeconfig', config, cause=cause, fix=fix)


def _context_error(what: str, config: Kubeconfig, *, fix: str, cause: str = "") -> ConfigError:
    have = tuple(sorted(config.contexts))
    return ConfigError(
        ConfigProblem.CONTEXT,
        f"{what}; have: {', '.join(have) or 'none'}",
        cause=cause,
        fix=fix,
        available=have,
        path=os.pathsep.join(config.files),
    )


def _unknown_reference(context: str, kind: str, name: str, known: Mapping[str, object]) -> ConfigError:
    have = tuple(sorted(known))
    what = f'context "{context}" names {kind} "{name}", which is not in the kubeconfig'
    return ConfigError(
        ConfigProblem.REFERENCE,
        f"{what}; have: {', '.join(have) or 'none'}",
        fix="kubectl config view",
        available=have,
    )
