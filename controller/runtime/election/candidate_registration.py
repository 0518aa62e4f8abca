"""
Stands for election where the control plane chooses: a LeaseCandidate that gives signs of life.

    pingTime later than renewTime, or five minutes gone --> renewTime := now

Follows: client-go tools/leaderelection/leasecandidate.go @32ce75a7d, differs: a candidate that somebody
deleted is made again at once.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Final

import msgspec
import structlog

from handloop.apis.coordination_v1beta1 import OLDEST_EMULATION_VERSION, LeaseCandidate, LeaseCandidateSpec
from handloop.apis.meta import ObjectMeta
from handloop.apis.time import format_micro_time, parse_time
from handloop.client.errors import ClientError, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.queue import ShutDown
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("leaderelection")

REQUEUE_SECONDS: Final = 300.0
QUEUE_NAME: Final = "leasecandidate"


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
        emulation_version: str = "",
        strategy: str = OLDEST_EMULATION_VERSION,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Prepare; nothing is asked of the server.

        Args: name is the identity in the election; versions are semantic, emulation_version "" = the same.
        """
        self.name = QUEUE_NAME
        self._candidates = client.resource(LeaseCandidate)
        self._namespace = namespace
        self._identity = name
        self._spec = LeaseCandidateSpec(
            lease_name=lease_name,
            binary_version=binary_version,
            emulation_version=emulation_version or binary_version,
            strategy=strategy,
        )
        self._clock = clock
        self._spawn = spawn
        self._queue: RateLimitingQueue[str] = RateLimitingQueue(
            default_controller_rate_limiter(clock=clock), name=QUEUE_NAME, clock=clock, spawn=spawn
        )
        self._informers = SharedInformerFactory(
            client, namespace=namespace, tweak=partial(_only, name), clock=clock, spawn=spawn
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
        Register, and answer until stop is set. The LeaseCandidate stays; old ones are cleared up.

        Blocks: until then, and until what is under way has ended.
        """
        self._queue.add(self._identity)
        self._informers.start(stop)
        worker = self._spawn(QUEUE_NAME, self._run_worker)
        stop.wait()
        self._queue.shut_down()
        worker.join()
        self._informers.shutdown()

    def _look(self, candidate: LeaseCandidate) -> None:
        """Queue a candidate that was asked for a sign of life since its last one."""
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
        """Make the candidate, or say in it that we are alive. Raises: ClientError."""
        try:
            found = self._candidates.get(self._identity, namespace=self._namespace)
        except NotFound:
            spec = msgspec.structs.replace(self._spec, renew_time=now)
            metadata = ObjectMeta(name=self._identity, namespace=self._namespace)
            self._candidates.create(LeaseCandidate(metadata=metadata, spec=spec))
            return
        spec = msgspec.structs.replace(found.spec, renew_time=now)
        self._candidates.update(msgspec.structs.replace(found, spec=spec))


def _only(name: str, options: ListOptions) -> ListOptions:
    """Lists and watches of one object."""
    return msgspec.structs.replace(options, field_selector=f"metadata.name={name}")
