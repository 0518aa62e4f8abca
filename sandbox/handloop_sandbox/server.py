"""
The sandbox's interface for programs: start it, send requests, stop it.

A started sandbox listens on a port, on loopback by default, and its controllers run on a separate thread. A
sandbox that has not been started answers through its in-process transport. In this case, its controllers run
only after a write or when tick() is called, which makes simulations deterministic.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from handloop_sandbox import kubeconfig
from handloop_sandbox.bind_address import LOOPBACK, BindAddress
from handloop_sandbox.certificate import certify
from handloop_sandbox.clock import Clock, SettableClock
from handloop_sandbox.cluster import lifecycle
from handloop_sandbox.cluster.cluster_controller import ClusterController
from handloop_sandbox.converters import ConvertFunction
from handloop_sandbox.engine import ADMIN, DEFAULT_BOOKMARK_SECONDS, Engine
from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.http import HTTPServer
from handloop_sandbox.requests.request import User
from handloop_sandbox.storage.store import DEFAULT_HISTORY_SIZE
from handloop_sandbox.transport import (
    BrokenConnectionError,
    InProcessTransport,
    SilenceError,
    StreamClosedError,
)

log = logging.getLogger("sandbox")


class Sandbox:
    """
    An API server in this process.

    Fields: conversions maps definitions' names to conversion functions. A function that is added later
    applies to definitions that are created afterwards.
    Threads: only one thread, the owner, uses start, stop and the properties. Any thread can use a transport.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        token: str | None = None,
        users: Mapping[str, User] | None = None,
        clock: Clock | None = None,
        speed: float = 1.0,
        seed: int | None = None,
        controllers: Sequence[ClusterController] | None = None,
        history_size: int = DEFAULT_HISTORY_SIZE,
        bookmark_seconds: float = DEFAULT_BOOKMARK_SECONDS,
        address: str = LOOPBACK,
        tls: bool = False,
        sharded_list_and_watch: bool = False,
        hold_jobs: bool = False,
        conversions: Mapping[str, ConvertFunction] | None = None,
    ) -> None:
        """
        Build a cluster, without listening on a port.

        Args: port is the port for start(); 0 means any free port. token is the administrator's token; None
        means a random token, and "" means that requests need no token. users maps further tokens to users.
        speed is the factor by which pods and controllers are accelerated. seed is the seed of all random
        values; None means a random seed. controllers are the simulated controllers; None means the default
        ones. address is the IP address to listen on. tls turns on TLS, with a new certificate whose authority
        is in the kubeconfig; the token is then accepted only in the Authorization header.
        sharded_list_and_watch turns on the feature gate ShardedListAndWatch; without it, shardSelector has no
        effect. With hold_jobs, the pods of Jobs end only if an annotation says so. conversions maps
        definitions' names (`sites.web.example.com`) to functions that replace the conversion webhooks. Each
        function takes objects and the wanted apiVersion, and returns the objects in that version. If a
        function raises an exception, the conversion fails as if a webhook had failed.
        Raises: ValueError if the address is invalid, or if it is reachable from other machines but requests
        need no token. NoCertificateError if tls is set and the cryptography package is missing.
        """
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.conversions = dict(conversions or {})
        self._port = port
        self._address = BindAddress(address)
        if not self._address.is_loopback and not self.token:
            raise ValueError(f"a sandbox on {address} needs a token, because other machines can reach it")
        self._certificate = certify(self._address.certified_names()) if tls else None
        self._clock = clock or SettableClock()
        tokens = {self.token: ADMIN, **(users or {})} if self.token else None
        root_ca = self.certificate.decode()
        own = lifecycle.default_controllers(speed=speed, root_ca=root_ca, hold_jobs=hold_jobs)
        chosen = own if controllers is None else controllers
        self.engine = Engine(
            clock=self._clock,
            controllers=chosen,
            users=tokens,
            seed=seed,
            history_size=history_size,
            bookmark_seconds=bookmark_seconds,
            tokens_in_paths=not tls,
            sharded_list_and_watch=sharded_list_and_watch,
            conversions=self.conversions,
        )
        self._http: HTTPServer | None = None
        self._url = ""
        self.engine.listen(self._changed)
        if isinstance(self._clock, SettableClock):
            self._clock.listen(self.engine.tell_listeners)
        self.tick()
        self.engine.keep_as_start()

    @property
    def certificate(self) -> bytes:
        """The PEM text of the authority for clients to trust, or b"" without TLS."""
        return self._certificate.authority if self._certificate else b""

    @property
    def clock(self) -> Clock:
        """The clock that the sandbox follows."""
        return self._clock

    @property
    def faults(self) -> Faults:
        """The faults of this sandbox."""
        return self.engine.faults

    @property
    def url(self) -> str:
        """The URL, such as `http://127.0.0.1:PORT`, or "" while the sandbox does not listen."""
        return self._url

    def start(self) -> str:
        """
        Listen on the port, and run the controllers in a separate thread.

        Returns: the URL. Raises: OSError if the port is taken.
        Blocks: the call waits until requests are accepted.
        """
        tls = self._certificate.context if self._certificate else None
        http = HTTPServer(self.engine, self._clock, address=self._address, tls=tls)
        port = http.start(self._port)
        self._http = http
        self.engine.address = f"{self._address.host}:{port}"
        self._url = f"{'https' if tls else 'http'}://{self.engine.address}"
        if not self._address.is_loopback:
            log.warning("the sandbox listens on %s: other machines can reach it", self._address.text)
            if tls is None:
                log.warning("the sandbox's token is sent unencrypted over the network. Use TLS to protect it")
        return self._url

    def stop(self) -> None:
        """End every watch and stop listening. Keep the objects. Blocks: the call waits for the thread."""
        http, self._http = self._http, None
        if http is not None:
            http.stop()
        self._url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def tick(self) -> float | None:
        """
        Run the controllers that are due, and request the conversions that watches and controllers need.

        Returns: the Unix time at which to call tick() again, or None if nothing is due until the next change.
        """
        wake = self.engine.tick()
        while self.engine.settle():
            wake = self.engine.tick()
        return wake

    def kubeconfig_text(self) -> str:
        """Return the text of a kubeconfig for the running sandbox."""
        return kubeconfig.kubeconfig(self._url, self.token, certificate=self.certificate)

    def write_kubeconfig(self, path: Path = kubeconfig.DEFAULT_PATH) -> Path:
        """Write the kubeconfig atomically, with mode 0600. Returns: the file's absolute path."""
        return kubeconfig.write(path, self.kubeconfig_text())

    def remove_kubeconfig(self, path: Path) -> None:
        """Remove the file that write_kubeconfig() wrote, unless it has been replaced."""
        if path.exists() and path.read_text(encoding="utf-8") == self.kubeconfig_text():
            path.unlink()

    def transport(
        self,
        *,
        token: str | None = None,
        closed: Callable[[str], Exception] = StreamClosedError,
        silent: Callable[[str], Exception] = SilenceError,
        broken: Callable[[str], Exception] = BrokenConnectionError,
        **options: Any,
    ) -> InProcessTransport:
        """
        Return a client transport that does not use sockets.

        Args: token is the bearer token to send; None means the administrator's. closed, silent and broken
        create the exceptions that the transport raises. For these and the other options, see
        InProcessTransport.
        """
        chosen = self.token if token is None else token
        return InProcessTransport(
            self.engine,
            clock=self._clock,
            token=chosen,
            closed=closed,
            silent=silent,
            broken=broken,
            **options,
        )

    def _changed(self) -> None:
        """Run the controllers after a change: on the server's thread if there is one, else on this thread."""
        http = self._http
        if http is not None:
            http.schedule()
            return
        self.tick()
