"""Judges a soak: checks each invariant against the soak's record and the server's log."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from soak.plan import FOREIGN, REPLICAS
from soak.record import Record
from soak.server_log import Entry
from soak.users import EDITED

LEASE_SECONDS: Final = 15.0
FAILOVER_SECONDS: Final = 22.0
SILENCE_SECONDS: Final = 75.0
GRACE_SECONDS: Final = 30.0
CONVERGENCE_SECONDS: Final = 120.0
OUTAGE_REQUESTS: Final = 4.0
_MARGIN_SECONDS: Final = 3.0
"""How much longer than guaranteed a reaction may take, because the machine is busy."""
_STRAY_CREATES: Final = 5
_MORE_MIB, _MORE_THREADS, _MORE_HANDLES = 6, 2, 6
_CREATED: Final = 201
_CONFLICT: Final = 409
_REFUSED: Final = 300
_SETTLED_VERSIONS: Final = 60.0


class Finding(NamedTuple):
    """The result for one invariant. figure: the measurement, as text; wrong: the violations, if any."""

    invariant: str
    figure: str
    wrong: list[str]


class Evidence:
    """A soak's record and log, with the lists of writes that several judges use."""

    def __init__(self, record: Record, entries: Sequence[Entry]) -> None:
        self.record = record
        self.entries = entries
        self.writes = [
            one for one in entries if one.is_write and one.agent and one.object_ref.resource != "events"
        ]
        self.leases = sorted(
            (one for one in self.writes if one.resource == "leases" and one.code < _REFUSED),
            key=lambda one: one.version,
        )
        self.work = [one for one in self.writes if one.resource != "leases"]
        self.taken = [one for one in self.work if one.code < _REFUSED]

    def versions(self, *resources: str) -> Iterator[list[Entry]]:
        """Yield, for each object of some resources, its stored versions in order."""
        found = defaultdict(list)
        for one in self.entries:
            if one.resource in resources and one.code < _REFUSED and one.version:
                found[one.resource.partition("/")[0], one.name].append(one)
        for versions in found.values():
            yield sorted(versions, key=lambda one: one.version)


def verdicts(evidence: Evidence) -> list[Finding]:
    """Return the findings for all invariants, in the order of their numbers."""
    return [judge(evidence) for judge in JUDGES]


def caches_are_as_the_server(evidence: Evidence) -> Finding:
    """Invariant 1: when all is quiet, the caches have as many objects as the server."""
    record = evidence.record
    wrong = [
        f"{who} has {count} {plural}, the server {found[plural]}"
        for found in (record.cached, record.kept)
        for key, count in found.items()
        if "/" in key
        for who, _, plural in [key.partition("/")]
        if count != found[plural]
    ]
    objects = sum(count for key, count in record.cached.items() if "/" not in key)
    return Finding(
        "I1 the caches equal the server's state",
        f"{objects} objects in each of 3 replicas, and none after all were deleted",
        wrong,
    )


def one_worker_has_a_name(evidence: Evidence) -> Finding:
    """
    Invariant 2, judged by the server's log: a process sends one write at a time for a name.

    An exception is a broken connection, after which the process can retry while the server still executes the
    first write.
    """
    last: dict[tuple[str, str], Entry] = {}
    wrong, excused = [], 0
    breaks = [(one.agent, one.at) for one in evidence.record.faults if one.fault.what in ("reset", "broken")]
    for one in sorted(evidence.work, key=lambda one: one.began):
        before = last.get((one.agent, one.name))
        if before and one.began < before.ended:
            since = before.began - _MARGIN_SECONDS
            if any(who == one.agent and since <= at <= one.ended for who, at in breaks):
                excused += 1
            else:
                wrong.append(f"{one.agent} wrote {before.resource} and {one.resource} of {one.name} at once")
        last[one.agent, one.name] = one
    beside = (
        f"{excused + len(wrong)} during another write for that name, "
        f"{excused} of them after a broken connection"
    )
    figure = f"{len(evidence.work)} writes, {beside}"
    return Finding("I2 only one worker at a time handles a name", figure, wrong)


def it_converges(evidence: Evidence) -> Finding:
    """Invariant 3: all objects reach their final state, soon after the last fault."""
    record = evidence.record
    seconds = record.settled - record.ended
    wrong = record.unsettled + record.refused
    if seconds > CONVERGENCE_SECONDS:
        wrong.append(f"it took {seconds:.0f} s")
    return Finding(
        "I3 no final state is lost, and all objects converge after the last fault",
        f"after {seconds:.0f} s",
        wrong,
    )


def foreign_fields_live(evidence: Evidence) -> Finding:
    """Invariant 4: fields that others wrote into children survive, including an autoscaler's replicas."""
    wrong, checked = [], 0
    scaled = {name: _scaled(versions) for name, versions in _by_name(evidence, "myapps").items()}
    for versions in evidence.versions(
        "deployments", "deployments/scale", "services", "horizontalpodautoscalers"
    ):
        label, replicas, uid = "", None, ""  # replicas: the number that others set last
        for one in versions:
            metadata, spec = one.response_object.metadata, one.response_object.spec
            if one.resource != "deployments/scale":
                if metadata.uid != uid:
                    uid, label, replicas = metadata.uid, "", None
                if one.agent and label and metadata.labels.get(EDITED) != label:
                    wrong.append(f"{one.agent} took the label {label} of {one.resource} {one.name}")
                checked += bool(one.agent and label)
                label = metadata.labels.get(EDITED, "")
            if (
                one.agent
                and replicas not in (None, spec.replicas)
                and _all_scaled(scaled.get(one.name, []), one)
            ):
                wrong.append(f"{one.agent} changed replicas of {one.name} from {replicas} to {spec.replicas}")
            replicas = None if one.agent and replicas != spec.replicas else spec.replicas
    return Finding(
        "I4 fields that others wrote survive", f"{checked} writes to children that others had edited", wrong
    )


def _by_name(evidence: Evidence, plural: str) -> dict[str, list[Entry]]:
    return {versions[0].name: versions for versions in evidence.versions(plural)}


def _scaled(versions: Sequence[Entry]) -> list[tuple[float, bool]]:
    return [
        (one.ended, bool((one.response_object.spec.auto_scaling or {}).get("enabled"))) for one in versions
    ]


def _all_scaled(history: Sequence[tuple[float, bool]], one: Entry) -> bool:
    """Return whether autoscaling was on at a write, and already on for longer than a cache can lag."""
    since = one.began - SILENCE_SECONDS - _SETTLED_VERSIONS
    before = [is_scaled for at, is_scaled in history if at <= since][-1:]
    return bool(before) and all(
        [*before, *(is_scaled for at, is_scaled in history if since < at <= one.ended)]
    )


def outages_are_endured_gently(evidence: Evidence) -> Finding:
    """Invariant 6: during an outage, a process sends only a few requests per second."""
    rates = [asked / seconds for seconds, asked in evidence.record.outages]
    wrong = [f"{rate:.1f} requests a second" for rate in rates if rate > OUTAGE_REQUESTS]
    figure = f"{len(rates)} outages, at most {max(rates, default=0.0):.1f} requests per second and process"
    words = (
        f"I6 in an outage, at most {OUTAGE_REQUESTS:.0f} requests a second (2.5 for the lease, 0.3 per kind)"
    )
    return Finding(words, figure, wrong)


def it_does_not_grow(evidence: Evidence) -> Finding:
    """Invariant 7: in each replica's last process, memory, threads and handles hardly grow."""
    pairs = resources(evidence).items()
    wrong = [
        f"{agent}: {begin.memory:.1f} MiB became {end.memory:.1f}, threads, handles {begin[1:3]} {end[1:3]}"
        for agent, (begin, end) in pairs
        if end.memory - begin.memory > _MORE_MIB
        or abs(end.threads - begin.threads) > _MORE_THREADS
        or abs(end.handles - begin.handles) > _MORE_HANDLES
    ]
    most = max((end.memory - begin.memory for _, (begin, end) in pairs), default=0.0)
    figure = f"{most:+.1f} MiB at most, see below"
    words = (
        f"I7 each process gains at most {_MORE_MIB} MiB, {_MORE_THREADS} threads and {_MORE_HANDLES} handles"
    )
    return Finding(words, figure, wrong)


def the_lease_is_held(evidence: Evidence) -> Finding:
    """Invariant 8: only the holder of the lease writes."""
    wrong = [
        f"{one.agent} {one.verb} {one.resource} {one.name}: {why}"
        for one in evidence.taken
        if (why := without_lease(evidence.leases, one))
    ]
    refused = sum(one.code == _CONFLICT for one in evidence.work)
    figure = (
        f"{len(evidence.taken)} writes accepted, {refused} refused with 409, {len(wrong)} without the lease"
    )
    return Finding("I8 only the holder of the lease writes", figure, wrong)


def without_lease(leases: Sequence[Entry], write: Entry, *, seconds: float = LEASE_SECONDS) -> str:
    """
    Return why a process did not hold the lease at a write, by the server's time, or "" if it did.

    Args: leases: the writes to the lease, in order; seconds: the lease's duration.
    """
    before = [one for one in leases if one.began <= write.ended]
    own = [one for one in before if one.agent == write.agent]
    if not own or not own[-1].response_object.spec.holder_identity:
        return "it had no lease" if not own or own[-1].ended < write.began else ""
    taken = [one for one in before if one.agent != write.agent and own[-1].version < one.version]
    if taken and taken[0].ended < write.began:
        return f"{taken[0].agent} had taken the lease"
    if write.began > own[-1].ended + seconds:
        return "its lease was over"
    return ""


def it_stops_when_asked(evidence: Evidence) -> Finding:
    """Invariant 9: after a SIGTERM, a process ends within the grace period."""
    wrong, took = [], []
    for life in evidence.record.lives:
        if not life.asked_to_stop or life.code == -9:  # the plan killed it after the SIGTERM
            continue
        seconds = life.ended - life.asked_to_stop
        took.append(seconds)
        if life.code not in (0, 1) or seconds > GRACE_SECONDS:
            wrong.append(f"{life.agent} ended with {life.code} after {seconds:.0f} s")
    figure = (
        f"{len(took)} stops, median {median(took):.1f} s, maximum {max(took):.1f} s" if took else "no stop"
    )
    return Finding(f"I9 SIGTERM ends a process within {GRACE_SECONDS:.0f} s", figure, wrong)


def others_take_over(evidence: Evidence) -> Finding:
    """Invariant 10: after a leader's last write to the lease, the next leader soon acquires it."""
    gaps, wrong = [], []
    for former, after in pairwise(evidence.leases):
        if former.agent == after.agent:
            continue
        gap = after.ended - former.ended
        gaps.append(gap)
        excused = sum(
            max(struck.fault.seconds, _MARGIN_SECONDS)
            for struck in evidence.record.faults
            if former.ended - struck.fault.seconds <= struck.at <= after.ended
            and struck.agent != former.agent
        )
        if gap > FAILOVER_SECONDS + excused:
            wrong.append(f"{gap:.0f} s between {former.agent} and {after.agent}")
    figure = (
        f"{len(gaps)} changes of leader, median {median(gaps):.1f} s, maximum {max(gaps):.1f} s"
        if gaps
        else "none"
    )
    words = (
        f"I10 another replica takes over within {FAILOVER_SECONDS:.0f} s, "
        "plus the duration of faults on the remaining replicas"
    )
    return Finding(words, figure, wrong)


def silence_is_noticed(evidence: Evidence) -> Finding:
    """Invariant 10, for watches: a replica notices a silent watch in time."""
    silences = evidence.record.silences
    longest = max(silences, default=0.0)
    wrong = [f"after {longest:.0f} s"] if longest > SILENCE_SECONDS + _MARGIN_SECONDS else []
    figure = f"{len(silences)} watches, noticed after {longest:.1f} s at most"
    return Finding(f"I10 a watch that hangs is noticed within {SILENCE_SECONDS:.0f} s", figure, wrong)


def nothing_is_made_for_the_gone(evidence: Evidence) -> Finding:
    """Even while a cache is stale, few children are created for a deleted owner."""
    gone: dict[str, float] = {}
    uids: dict[tuple[str, str], str] = {}
    for one in evidence.entries:
        if one.resource in ("foos", "myapps") and one.code < _REFUSED:
            if one.verb == "delete":
                gone[uids.get((one.resource, one.name), "")] = one.ended
            elif one.version:
                uids[one.resource, one.name] = one.response_object.metadata.uid
    strays = Counter(
        (owner["uid"], one.resource)
        for one in evidence.taken
        if one.code == _CREATED
        for owner in one.response_object.metadata.owner_references[:1]
        if one.began > gone.get(owner["uid"], float("inf"))
    )
    most = max(strays.values(), default=0)
    wrong = [f"{count} creates of one child" for count in strays.values() if count > _STRAY_CREATES]
    figure = f"{len(gone)} owners deleted, {strays.total()} creates afterwards, at most {most} per child"
    return Finding(
        f"no child is created more than {_STRAY_CREATES} times for an owner that is gone", figure, wrong
    )


def foreign_objects_are_left_alone(evidence: Evidence) -> Finding:
    """The program does not write to a Deployment that belongs to somebody else."""
    found = [one for one in evidence.taken if one.resource.startswith("deployments") and one.name in FOREIGN]
    wrong = [f"{one.agent} {one.verb} {one.name}" for one in found]
    return Finding("another owner's object is not written", f"{len(found)} writes", wrong)


def it_is_quiet_in_the_end(evidence: Evidence) -> Finding:
    """After all objects have settled, the program writes only its lease."""
    record = evidence.record
    found = [
        one for one in evidence.work if record.settled + _MARGIN_SECONDS < one.began < record.quiet_until
    ]
    wrong = [f"{one.agent} {one.verb} {one.resource} {one.name}" for one in found]
    return Finding(
        "once settled, a process writes nothing",
        f"{len(found)} writes in {record.quiet_until - record.settled:.0f} s",
        wrong,
    )


def processes_end_for_a_reason(evidence: Evidence) -> Finding:
    """A process ends only because of the plan or after losing its lease, and logs no traceback."""
    codes = Counter(life.code for life in evidence.record.lives)
    wrong = [
        f"{life.agent} ended with {life.code}"
        for life in evidence.record.lives
        if life.code not in (0, 1, -9)
    ]
    wrong += [f"{life.agent}: {line}" for life in evidence.record.lives for line in life.tracebacks]
    figure = f"{codes[-9]} killed, {codes[0]} stopped, {codes[1]} lost the lease, no traceback"
    return Finding("a process ends only if it is killed, stopped or loses the lease", figure, wrong)


JUDGES: Final[Sequence[Callable[[Evidence], Finding]]] = (
    caches_are_as_the_server,
    one_worker_has_a_name,
    it_converges,
    foreign_fields_live,
    outages_are_endured_gently,
    it_does_not_grow,
    the_lease_is_held,
    it_stops_when_asked,
    others_take_over,
    silence_is_noticed,
    nothing_is_made_for_the_gone,
    foreign_objects_are_left_alone,
    it_is_quiet_in_the_end,
    processes_end_for_a_reason,
)


class Figures(NamedTuple):
    """A process's resources at one time: memory in MiB, threads, handles, and requests in the last minute."""

    memory: float
    threads: int
    handles: int
    requests: int


def resources(evidence: Evidence) -> dict[str, tuple[Figures, Figures]]:
    """Return measurements of each replica's last process, a minute after it began to work and at its end."""
    found = {}
    for number in REPLICAS:
        life = [life for life in evidence.record.lives if life.agent.startswith(f"soak/{number}.")][-1]
        leases = [one.ended for one in evidence.leases if one.agent == life.agent]
        begin = max([life.began, *leases[:1]]) + 60.0
        ends = (_figures(evidence, life.agent, at) for at in (begin, evidence.record.ended))
        found[life.agent] = (next(ends), next(ends))
    return found


def _figures(evidence: Evidence, agent: str, until: float) -> Figures:
    """Return a process's figures over the minute before a time."""
    samples = [
        one for one in evidence.record.samples if one.agent == agent and until - 60.0 < one.at <= until
    ]
    requests = sum(one.agent == agent and until - 60.0 < one.began <= until for one in evidence.entries)
    return Figures(
        median([one.memory for one in samples] or [0.0]),
        int(median([one.threads for one in samples] or [0])),
        int(median([one.handles for one in samples] or [0])),
        requests,
    )
