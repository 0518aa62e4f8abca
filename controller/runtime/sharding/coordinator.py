"""
Acquire and release this replica's slots. Each slot has a Lease, and an elector that acquires it.

    each retry period:  renew our member Lease, list all Leases --> the living members, the slots' holders
                        --> assignment --> an elector for each slot that should be ours
    a slot:  elector --leads--> serve(slot, stop) --should be another's: stop--> drained --> Lease released
                        |--Lease lost--> serve ends, only for this slot; the elector can run again

The assignment is only advice. If members see different Leases, they can request the same slot, but only
one of them acquires the slot's Lease. The slot's elector determines seconds_to_write; slot_candidacy.py
states the guarantees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, Protocol

import msgspec

from handloop.apis.coordination_v1 import Lease
from handloop.client.errors import ClientError
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.election.leader_election import (
    LeaderCallbacks,
    LeaderElector,
    LeadershipLost,
    StopTimeoutError,
)
from handloop.controller.runtime.sharding.assignment import assignment
from handloop.controller.runtime.sharding.members import Members
from handloop.controller.runtime.sharding.shard_metrics import CHANGES, ShardMetrics
from handloop.controller.runtime.sharding.shards import Shards
from handloop.controller.runtime.sharding.slot_candidacy import Renewal, SlotCandidacy, View
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, join_all

log = get_logger("shards")

_LEAST_SECONDS: Final = 0.05
"""The shortest time between two turns. In each turn, the coordinator lists the Leases and acts on them."""


_PATIENCE_PERIODS: Final = 0.5
"""After this many retry periods, all members request a free slot, not only the one that should have it."""
_SHORT: Final = 4


class SlotServer(Protocol):
    """The part of a program that does the work of its slots. Replica implements it."""

    def serve(self, slot: int, stop: threading.Event) -> None:
        """
        Do a slot's work, on a thread `slot-<i>`. There is never more than one running call per slot.

        Raises: StopTimeoutError if the work does not end in time after stop is set; the slot's Lease is then
        not released, but expires.
        Blocks: until stop is set and the work has ended.
        """

    def lost(self, slot: int) -> None:
        """React to a lost Lease. Runs on the elector's thread, before stop is set. Must not block."""

    def turned(self) -> None:
        """React to the end of a turn, of which run does one per retry period. Runs on the thread `shards`."""


class SlotStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """A slot, its holder or "", and the time when this replica first saw that holder, in Unix seconds."""

    slot: int
    holder: str
    since: float


class ShardStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """
    The holders of all slots, as this replica saw them in its last turn. msgspec encodes it as JSON.

    Fields: group, the namespace and the common prefix of the Leases' names, as `namespace/name`; leader, a
    process that still runs with leader election under that name, or ""; the replicas start work only after
    that process has stopped; members, the living replicas including this one, or () if this one has not
    joined; settled, whether slots can move for balance; held, this replica's slots; unheld, the slots that no
    member holds; taken, given_up and lost, how many slots this replica has taken, has given up, and has lost
    together with their Leases.
    """

    group: str
    identity: str
    count: int
    by: str
    leader: str = ""
    members: tuple[str, ...] = ()
    settled: bool = False
    held: tuple[int, ...] = ()
    unheld: tuple[int, ...] = ()
    taken: int = 0
    given_up: int = 0
    lost: int = 0
    slots: tuple[SlotStatistics, ...] = ()


class _Slot:
    """
    A slot, with the elector that acquires its Lease while the slot should be ours.

    State: _thread and _stop, the thread and the stop event of the elector's current run; _error, the error of
    its last run.
    Threads: `shards` starts the runs. The threads of a run set _error, and `shards` reads it once they have
    ended.
    """

    def __init__(
        self,
        number: int,
        config: LeaderElectionConfig,
        server: SlotServer,
        on_lost: Callable[[int, LeadershipLost], None],
        *,
        view: Callable[[], View],
        metrics: ShardMetrics,
        seams: Seams,
    ) -> None:
        self.number = number
        self._server = server
        self._spawn = seams.spawn
        callbacks = LeaderCallbacks(on_started_leading=self._work, on_lost=partial(on_lost, number))
        self.candidacy = SlotCandidacy(config, view, clock=seams.clock, metrics=metrics)
        self._elector = LeaderElector(
            config,
            callbacks,
            metrics=metrics,
            work_thread=f"slot-{number}",
            candidacy=self.candidacy,
            seams=seams,
        )
        self._thread: Joinable | None = None
        self._stop = threading.Event()
        self._error: BaseException | None = None

    @property
    def is_held(self) -> bool:
        """Return whether the slot's Lease is ours, which means that its work may be running."""
        return self.candidacy.is_leading

    @property
    def is_idle(self) -> bool:
        """Return whether no elector is running, which means that all work on the slot has ended."""
        return not self.is_alive()

    def is_expected(self, seconds: float) -> bool:
        """Return whether an elector is running that has the Lease, or can acquire it within this time."""
        if self.is_idle or self._stop.is_set():
            return False
        return self.candidacy.is_leader() or self.candidacy.statistics().expires_in_seconds <= seconds

    def observe(self, lease: Lease | None, renewal: Renewal | None) -> None:
        """Record the slot's Lease from the last list. If the elector runs, only our mark in it matters."""
        if self.is_idle and lease is not None:
            self.candidacy.observe(lease)
        elif not self.is_idle and renewal is not None:
            self.candidacy.confirm(renewal, lease)

    def ask(self) -> None:
        """Start the elector, unless it is already running, or its last error awaits take_error."""
        if self.is_idle and self._error is None:
            self._stop = threading.Event()
            self._start(self._run)

    def give_up(self) -> None:
        """Make the elector end the slot's work and then release the Lease. Does not wait for it."""
        self._stop.set()

    def unmark(self) -> None:
        """Remove our mark if a run ended without releasing the Lease, which otherwise would never expire."""
        if self.is_idle and self.candidacy.is_left_marked():
            self._start(self.candidacy.let_expire)

    def _start(self, target: Callable[[], None]) -> None:
        self._thread = self._spawn(f"slot-{self.number}-lease", target)

    def is_alive(self) -> bool:
        """See Joinable."""
        return self._thread is not None and self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the elector has ended."""
        if self._thread is not None:
            self._thread.join(timeout)

    def take_error(self) -> BaseException | None:
        """Return the error of a run that has ended, and clear it. Return None if there is no error."""
        if not self.is_idle:
            return None
        error, self._error = self._error, None
        return error

    def _run(self) -> None:
        try:
            self._elector.run(self._stop)
        except LeadershipLost:
            pass  # on_lost has reported the loss; _work has already stored an error of the work
        except BaseException as error:  # noqa: BLE001 - `shards` raises it
            self._error = error

    def _work(self, stop: threading.Event) -> None:
        try:
            self._server.serve(self.number, stop)
        except BaseException as error:
            self._error = error
            raise


class ShardCoordinator:
    """
    Divides the slots with the other replicas, and runs an elector for each of this replica's slots.

    State, under _lock: _lost, slot whose Lease was lost since the last turn -> the reason; _statistics, the
    statistics of the last turn. State that only the thread `shards` uses: _living, the members; _settles_at,
    the time from which slots can move for balance if no member joins or leaves; _wanted, the last assignment;
    _free_since, slot -> when it was first seen without a known holder; _sources, slot -> the member that held
    it before; _outage, the server's last error; _leader, the process that runs with leader election, or "".
    Threads: `shards` runs `run`; `slot-<i>-lease` renews a slot's Lease; `slot-<i>` serves the slot; any
    thread can call the other methods.
    """

    def __init__(
        self,
        shards: Shards,
        terms: LeaseTerms,
        leases: ResourceClient[Lease],
        *,
        identity: str,
        server: SlotServer,
        metrics: ShardMetrics,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create the coordinator without sending a request.

        Args: terms come from shards. leases must not retry requests or wait for a rate limit. identity ends
        with `_` and a part that is unique to this replica.
        """
        self._shards = shards
        self._terms = terms
        self._identity = identity
        self._server = server
        self._metrics = metrics
        self._clock = seams.clock
        self._members = Members(shards, terms, leases, identity, metrics=metrics, clock=seams.clock)
        self._slots = tuple(
            _Slot(
                slot,
                self._members.slot_config(slot),
                server,
                self._slot_lost,
                view=lambda: self._members.view,
                metrics=metrics,
                seams=seams,
            )
            for slot in range(shards.count)
        )
        self._lock = new_lock("ShardCoordinator._lock", 95)
        self._lost: dict[int, str] = {}
        self._statistics = ShardStatistics(
            group=self._members.group, identity=identity, count=shards.count, by=shards.by
        )
        self._living: tuple[str, ...] = ()
        self._settles_at = 0.0
        self._wanted: Mapping[int, str] = {}
        self._free_since: dict[int, float] = {}
        self._sources: dict[int, str] = {}
        self._outage = ""
        self._leader = ""

    def seconds_to_write(self, slot: int) -> float:
        """Return for how many seconds only we can write for a slot, or 0 if its Lease is not ours."""
        return self._slots[slot].candidacy.seconds_to_write()

    def statistics(self) -> ShardStatistics:
        """Return the members and the holders of the slots, as of the last turn."""
        with self._lock:
            return self._statistics

    def check(self) -> str | None:
        """Check that we work on no slot whose Lease has expired. Returns: the problem, or None."""
        reasons = (slot.candidacy.check() for slot in self._slots if slot.is_held)
        return next((reason for reason in reasons if reason is not None), None)

    def run(self, stop: threading.Event) -> None:
        """
        Divide the slots with the other replicas until stop is set. Then end all work, and release the Leases.

        Blocks: until stop is set and all work has ended.
        Raises: ShardMismatchError if another replica has different shards; any error that SlotServer.serve
        raises.
        """
        log.info("Joining the replicas", lease=self._members.group, shards=str(self._shards))
        try:
            while not stop.is_set():
                started_at = self._clock.now()
                self._turn()
                wait = min(started_at + self._terms.retry_period_seconds, self._members.next_change())
                self._clock.sleep(max(wait - self._clock.now(), _LEAST_SECONDS), stop)
        finally:
            self._leave()
        errors = [error for slot in self._slots if (error := slot.take_error()) is not None]
        if errors:
            raise errors[0]

    def _slot_lost(self, slot: int, lost: LeadershipLost) -> None:
        """Record a slot's lost Lease. Runs on the thread of the slot's elector."""
        with self._lock:
            self._lost[slot] = f"not renewed for {lost.seconds:.0f} s ({lost.why})"
        self._server.lost(slot)

    def _give_up_all(self) -> None:
        for slot in self._slots:
            slot.give_up()

    # on the thread `shards`

    def _turn(self) -> None:
        had_joined = self._members.joined
        try:
            self._note_outage(self._members.turn())
        except ClientError as error:
            self._note_outage(str(error))
        else:
            self._assign()
        self._note_leader(self._members.leader)
        if had_joined and not self._members.joined:
            if not self._leader:
                log.warning(
                    "Our member Lease was not renewed in time: giving up all slots, and joining again"
                )
            self._living = ()
            self._give_up_all()
        self._check_work()
        self._report()
        self._server.turned()

    def _assign(self) -> None:
        """Compute the assignment from the last list, and request or give up slots accordingly."""
        living, leases, now = self._members.living(), self._members.slot_leases(), self._clock.now()
        for slot in self._slots:
            slot.observe(leases.get(slot.number), self._members.view.renewal)
        holders = self._holders()
        self._sources.update({slot: who for slot, who in holders.items() if who != self._identity})
        if not self._members.joined:
            return
        if set(living) != set(self._living):
            self._tell_members(living)
            self._settles_at = now + self._shards.settle_seconds
        self._living = living
        moves = {number: lease.spec.lease_transitions or 0 for number, lease in leases.items()}
        free = {slot for slot in range(self._shards.count) if slot not in holders}
        self._free_since = {slot: self._free_since.get(slot, now) for slot in free}
        holders.update(
            (slot.number, self._identity) for slot in self._slots if self._claims(slot, holders, now)
        )
        self._wanted = assignment(self._shards.count, living, holders, moves, settled=now >= self._settles_at)
        for slot in self._slots:
            if self._wanted[slot.number] == self._identity:
                slot.ask()
            else:
                slot.give_up()
                slot.unmark()

    def _holders(self) -> dict[int, str]:
        """Return slot -> holder from the last list. Our own slots come from the electors, which are newer."""
        ours = {slot.number: self._identity for slot in self._slots if slot.is_held}
        return {**self._members.holders(), **ours}

    def _claims(self, slot: _Slot, holders: Mapping[int, str], now: float) -> bool:
        """
        Return whether the assignment must treat a slot without a living holder as ours.

        There are two such cases. First, our elector may be acquiring the slot's Lease, and must not give up
        for a new member. Second, if a slot stays free, every member requests it, because the member that
        should have the slot may be dead, or may have to wait longer: each member counts a Lease's duration
        from when it first saw the Lease.
        """
        if holders.get(slot.number) in self._living:
            return False
        free_since, period = self._free_since.get(slot.number, now), self._terms.retry_period_seconds
        request_seconds = self._terms.renew_deadline_seconds / 2
        return slot.is_expected(request_seconds) or now - free_since > _PATIENCE_PERIODS * period

    def _check_work(self) -> None:
        """Raise any error that serve raised. StopTimeoutError is only logged, as the slot's Lease expires."""
        for slot in self._slots:
            error = slot.take_error()
            if isinstance(error, StopTimeoutError):
                log.error("The work of a slot did not end in time", slot=slot.number, err=str(error))
            elif error is not None:
                raise error

    def _leave(self) -> None:
        self._give_up_all()
        if not self._outage:
            self._members.leave()
        while join_all(dict(enumerate(self._slots)), self._terms.retry_period_seconds, self._clock):
            self._members.work_goes_on()
        if not self._outage:
            self._members.work_has_ended()
        self._living = ()
        self._report()

    def _report(self) -> None:
        """Count the slots that have changed since the last report, and log one line per kind of change."""
        with self._lock:
            lost, self._lost, before = self._lost, {}, self._statistics
        slots, holders = range(self._shards.count), self._holders()
        held = tuple(slot.number for slot in self._slots if slot.is_held)
        taken = set(held) - (set(before.held) - set(lost))
        given = set(before.held) - set(held) - set(lost)
        after = msgspec.structs.replace(
            before,
            leader=self._leader,
            members=self._living,
            settled=self._clock.now() >= self._settles_at,
            held=held,
            unheld=tuple(slot for slot in slots if self._living and holders.get(slot) not in self._living),
            taken=before.taken + len(taken),
            given_up=before.given_up + len(given),
            lost=before.lost + len(lost),
            slots=tuple(self._seen(before, slot, holders.get(slot, "")) for slot in slots),
        )
        with self._lock:
            self._statistics = after
        self._metrics.report(held=len(held), unheld=len(after.unheld), members=len(self._living))
        for change, slots_changed in zip(CHANGES, (taken, given, lost), strict=True):
            self._metrics.changed(change, len(slots_changed))
        self._tell("Slots lost", "why", lost, level="warning")
        self._tell("Slots given up", "to", {slot: self._next(slot) for slot in given})
        self._tell("Slots taken", "from", {slot: _short(self._sources.pop(slot, "nobody")) for slot in taken})

    def _seen(self, before: ShardStatistics, slot: int, holder: str) -> SlotStatistics:
        last = before.slots[slot] if before.slots else None
        if last is not None and last.holder == holder:
            return last
        return SlotStatistics(slot=slot, holder=holder, since=self._clock.time())

    def _next(self, slot: int) -> str:
        wanted = self._wanted[slot]
        return "others" if wanted == self._identity else _short(wanted)

    def _tell(self, text: str, about: str, slots: Mapping[int, str], *, level: str = "info") -> None:
        if slots:
            words = ", ".join(sorted(set(slots.values())))
            have = f"{len(self.statistics().held)} of {self._shards.count}"
            getattr(log, level)(text, slots=" ".join(map(str, sorted(slots))), **{about: words}, have=have)

    def _tell_members(self, living: Collection[str]) -> None:
        changes = {"joined": set(living) - set(self._living), "left": set(self._living) - set(living)}
        words = {name: ", ".join(sorted(map(_short, who))) for name, who in changes.items() if who}
        log.info("Members of the shards", members=len(living), **words)

    def _note_leader(self, leader: str) -> None:
        if leader != self._leader and leader:
            log.warning(
                "A process with leader election is running: waiting until it has stopped",
                lease=self._members.group,
                leader=leader,
            )
        self._leader = leader

    def _note_outage(self, error: str) -> None:
        if error and not self._outage:
            log.warning("The Leases of slots and members cannot be read or written", err=error)
        elif self._outage and not error:
            log.info("The Leases of slots and members can be read and written again")
        self._outage = error


def _short(identity: str) -> str:
    """Shorten `pod-a_8dd654b7-...` to `pod-a_8dd6` for people. The member Lease's name is not shortened."""
    host, _, random = identity.rpartition("_")
    return f"{host}_{random[:_SHORT]}" if host else identity
