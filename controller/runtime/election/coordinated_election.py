"""
Election where the control plane chooses the leader, among LeaseCandidates (alpha in Kubernetes).

    LeaseCandidate: pingTime later than renewTime, or five minutes gone --> renewTime := now
    Lease:          given to us --> renew; another candidate preferred --> step down

CandidateRegistration stands for election. CoordinatedCandidacy keeps the lease once it is given to us: it
never makes or takes a lease.
Follows: client-go tools/leaderelection/leasecandidate.go, leaderelection.go @32ce75a7d (tryCoordinatedRenew),
differs: a deleted candidate is made again at once.
"""

from __future__ import annotations

import threading
from functools import partial
from math import inf
from typing import Final

from msgspec.structs import replace

from handloop.apis.coordination_v1 import LeaseSpec
from handloop.apis.coordination_v1beta1 import OLDEST_EMULATION_VERSION, LeaseCandidate, LeaseCandidateSpec
from handloop.apis.meta import ObjectMeta, format_micro_time, parse_time
from handloop.client.errors import ClientError, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.runtime.election.candidacy import Candidacy, continued
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.workqueue.queue import ShutDown
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.seams import REAL_SEAMS, Seams
from handloop.workqueue.stdlib_logs import get_logger

log = get_logger("leaderelection")

REQUEUE_SECONDS: Final = 300.0
QUEUE_NAME: Final = "leasecandidate"


class CoordinatedCandidacy(Candidacy):
    """Keeps a lease that the control plane gives to us. State and threads: as Candidacy."""

    def try_acquire_or_renew(self, *, deadline: float = inf) -> bool:
        """
        Renew the lease if it was given to us.

        Args: as Candidacy. Returns: whether the lease is ours now. Errors are logged; no lease is no error.
        """
        started_at = self._clock.now()
        fetched = self._look(deadline)
        if fetched is None or not self._is_given(fetched):
            return False
        record = LeaseSpec(
            holder_identity=self._lease.identity,
            lease_duration_seconds=self._config.written_seconds,
            renew_time=format_micro_time(self._clock.time()),
            strategy=fetched.strategy,
        )
        return self._write(self._lease.update, continued(record, fetched), started_at)

    def is_free(self) -> bool:
        """Read the lease. Returns: whether it was given to us; False after an error, which is logged."""
        fetched = self._look(inf)
        return fetched is not None and self._is_given(fetched)

    def term_is_over(self) -> bool:
        """Whether the control plane prefers another candidate: then we renew no more."""
        with self._lock:
            ours = self._observed.holder_identity == self._lease.identity
            return ours and bool(self._observed.preferred_holder)

    def _look(self, deadline: float) -> LeaseSpec | None:
        """Read the lease. Returns: None without a lease, or when it cannot be read."""
        self._deadline = deadline
        try:
            fetched = self._lease.get(self._request_seconds())
        except NotFound:
            self._note("")  # no leader has been chosen yet
            return None
        except ClientError as error:
            self._failed(error)
            return None
        self._observe(fetched)
        self._note("")
        return fetched

    def _is_given(self, fetched: LeaseSpec) -> bool:
        if fetched.holder_identity != self._lease.identity or not self._is_lease_valid():
            holder = fetched.holder_identity or ""
            log.debug("Lease is held by another, or has expired", v=4, holder=holder)
            return False
        return not fetched.preferred_holder


class CandidateRegistration:
    """
    Keeps one LeaseCandidate alive. Implements handloop.controller.runtime.runnable.Runnable.

    Threads: `leasecandidate` asks the server; the informer's listener only queues.
    """

    needs_leader_election = False

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        lease_name: str,
        binary_version: str,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Prepare; nothing is asked of the server.

        Args: name is the identity in the election; binary_version is semantic.
        """
        self.name = QUEUE_NAME
        self._candidates = client.resource(LeaseCandidate)
        self._namespace = namespace
        self._identity = name
        self._spec = LeaseCandidateSpec(
            lease_name=lease_name,
            binary_version=binary_version,
            emulation_version=binary_version,
            strategy=OLDEST_EMULATION_VERSION,
        )
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._queue: RateLimitingQueue[str] = RateLimitingQueue(
            default_controller_rate_limiter(clock=seams.clock), name=QUEUE_NAME, seams=seams
        )
        self._informers = SharedInformerFactory(
            client, namespace=namespace, tweak=partial(_only, name), seams=seams
        )
        self._informers.informer_for(LeaseCandidate).add_event_handler(
            ResourceEventHandlerFuncs(
                add_func=self._look,
                update_func=lambda _old, new: self._look(new),
                delete_func=lambda _gone: self._queue.add(name),
            )
        )

    def run(self, stop: threading.Event) -> None:
        """
        Register, and answer pings until stop is set. The LeaseCandidate stays; the server clears up old ones.

        Blocks: until then, and until the request under way has ended.
        """
        self._queue.add(self._identity)
        self._informers.start(stop)
        worker = self._spawn(QUEUE_NAME, self._run_worker)
        stop.wait()
        self._queue.shut_down()
        worker.join()
        self._informers.shutdown()

    def _look(self, candidate: LeaseCandidate) -> None:
        """Queue a candidate that was pinged since its last sign of life."""
        asked, renewed = candidate.spec.ping_time, candidate.spec.renew_time
        if asked and (not renewed or parse_time(renewed) < parse_time(asked)):
            self._queue.add(self._identity)

    def _run_worker(self) -> None:
        while True:
            try:
                name = self._queue.get()
            except ShutDown:
                return
            try:
                self._sync(name)
            finally:
                self._queue.done(name)

    def _sync(self, name: str) -> None:
        try:
            self._ensure(format_micro_time(self._clock.time()))
        except ClientError as error:
            log.warning("Could not renew the lease candidate", candidate=name, err=str(error))
            self._queue.add_rate_limited(name)
        else:
            self._queue.forget(name)
            self._queue.add_after(name, REQUEUE_SECONDS)

    def _ensure(self, now: str) -> None:
        """Make the candidate, or renew it. Raises: ClientError."""
        try:
            found = self._candidates.get(self._identity, namespace=self._namespace)
        except NotFound:
            spec = replace(self._spec, renew_time=now)
            metadata = ObjectMeta(name=self._identity, namespace=self._namespace)
            self._candidates.create(LeaseCandidate(metadata=metadata, spec=spec))
            return
        spec = replace(found.spec, renew_time=now)
        self._candidates.update(replace(found, spec=spec))


def _only(name: str, options: ListOptions) -> ListOptions:
    """Lists and watches of one object."""
    return replace(options, field_selector=f"metadata.name={name}")
