"""The checks of the exercises: a right solution passes, and each wrong one gets a hint of its own."""

from __future__ import annotations

import pytest

from handloop_learn.exercise_catalog import EXERCISES
from support.checks.chapters import judged

REFLECTOR = """
from handloop.client.errors import Gone

def reflect(server, store, stopped):
    while not stopped():
        things, version = server.list()
        store.replace(things)
        try:
            while not stopped():
                for kind, thing, version in server.watch(version):
                    if kind == "DELETED":
                        store.remove(thing)
                    elif kind != "BOOKMARK":
                        store.put(thing)
        except Gone:
            pass
"""
DELTA_FIFO = """
def process(key, deltas, store, tell):
    for delta_type, obj in deltas:
        known = store.get_by_key(key) is not None
        if delta_type == "Deleted":
            store.delete(obj)
            tell("delete", key)
        else:
            store.add(obj)
            tell("update" if known else "add", key)
"""
INDEXER = """
from handloop.apis.meta import controller_of

def by_foo(deployment):
    owner = controller_of(deployment)
    if owner is None or owner.kind != "Foo":
        return []
    return [f"{deployment.metadata.namespace}/{owner.name}"]

def deployments_of(indexer, namespace, name):
    return indexer.by_index("foo", f"{namespace}/{name}")
"""
WORKQUEUE = """
from handloop.workqueue.queue import ShutDown

def work(queue, sync):
    while True:
        try:
            key = queue.get()
        except ShutDown:
            return
        try:
            sync(key)
        except Exception:
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
        finally:
            queue.done(key)
"""
BACKOFF = """
class Backoff:
    def __init__(self):
        self.failures = {}

    def when(self, key):
        before = self.failures.get(key, 0)
        self.failures[key] = before + 1
        return min(0.005 * 2.0 ** min(before, 1000), 1000)

    def forget(self, key):
        self.failures.pop(key, None)

    def num_requeues(self, key):
        return self.failures.get(key, 0)
"""
SYNC_HANDLER = """
from handloop.apis.meta import is_controlled_by
from handloop.controller.foo.controller import new_deployment, scale_patch

def sync(name, foos, deployments, server):
    foo = foos.get_by_key(str(name))
    if foo is None:
        return
    deployment = deployments.get_by_key(f"{name.namespace}/{foo.spec.deployment_name}")
    if deployment is None:
        server.create(new_deployment(foo))
    elif not is_controlled_by(deployment, foo):
        raise RuntimeError("it belongs to another")
    elif foo.spec.replicas is not None and deployment.spec.replicas != foo.spec.replicas:
        patch = scale_patch(deployment, foo.spec.replicas)
        server.patch(deployment.metadata.name, patch, namespace=name.namespace)
"""
CONFLICT = """
from handloop import Conflict, evolve

def add_replicas(foos, foo, number):
    for tries in range(1, 6):
        try:
            return foos.update(evolve(foo, "spec.replicas", foo.spec.replicas + number))
        except Conflict:
            if tries == 5:
                raise
        foo = foos.get("foo", namespace="default")
"""
FINALIZERS = """
from handloop import add_finalizer, has_finalizer, is_being_deleted, remove_finalizer
from handloop_learn.ex13_finalizers import NoBucketError

FINALIZER = "example.org/bucket"

def sync(foo, foos, cloud):
    if is_being_deleted(foo):
        if has_finalizer(foo, FINALIZER):
            try:
                cloud.delete(foo.metadata.uid)
            except NoBucketError:
                pass
            remove_finalizer(foos, foo, FINALIZER)
        return
    add_finalizer(foos, foo, FINALIZER)
    cloud.create(foo.metadata.uid)
"""

KEEP = "version = version if kind == 'BOOKMARK' else new"
BUCKET_FIRST = "    cloud.create(foo.metadata.uid)\n    add_finalizer(foos, foo, FINALIZER)"

RIGHT = {
    2: (REFLECTOR, 5),
    3: (DELTA_FIFO, 4),
    4: (INDEXER, 3),
    6: (WORKQUEUE, 4),
    7: (BACKOFF, 5),
    8: (SYNC_HANDLER, 9),
    9: (CONFLICT, 4),
    13: (FINALIZERS, 5),
}
"""Right solutions by the chapter, and how many things are right about each."""

WRONG: list[tuple[int, dict[str, str], str, str]] = [
    # {} = as it starts: it puts all, and returns when the connection breaks
    (2, {}, "has {'a': 2, 'b': 1, 'c': 1}, not", "DELETED removes a thing"),
    (2, {"store.replace(things)": "pass"}, "before the first watch the store has {}", "replace"),
    (2, {"server.watch(version)": "server.watch(0)"}, "and you watched from 0", "the version that came last"),
    (2, {"for kind, thing, version in": "for kind, thing, _ in"}, "and you watched from 10", "Watch from"),
    (
        2,
        {"            while not stopped():": "            if True:"},
        "and you listed all again",
        "lost nothing",
    ),
    (
        2,
        {"            while not stopped():": "            if True:", "    while not": "    if not"},
        "and you returned",
        "watch again",
    ),
    (2, {'"BOOKMARK"': '""'}, "you put a thing that is None", "has no thing"),
    (
        2,
        {
            "for kind, thing, version in": "for kind, thing, new in",
            "                    if kind": "                    " + KEEP + "\n                    if kind",
        },
        "a BOOKMARK said version 15, and you watched from 14",
        "Keep that version",
    ),
    (
        2,
        {"except Gone": "except KeyError"},
        "ended by the 410: too old resource version: 15",
        "only a list helps",
    ),
    (
        2,
        {"except Gone:\n            pass": "except Gone:\n            return"},
        "did not list again",
        "only a list helps",
    ),
    (
        2,
        {"store.replace(things)": "[store.put(thing) for thing in things]"},
        "`a` was deleted meanwhile",
        "store.replace",
    ),
    (
        2,
        {"            while not stopped():": "            while True:"},
        "you did not return",
        "Ask stopped()",
    ),
    # it handles Added alone
    (3, {}, "the store has the one with 1 replicas", "Each of them changes the store"),
    (
        3,
        {"if known else": "if delta_type != 'Added' else"},
        "after Added of a stored Foo you told [('add'",
        "Ask the store",
    ),
    (3, {"in deltas:": "in deltas[-1:]:"}, "you told [('add', 'default/a')]", "Each of them"),
    (
        3,
        {"store.delete(obj)": "obj.metadata.name; store.delete(obj)"},
        "no attribute 'metadata'",
        "DeletedFinalStateUnknown",
    ),
    # it tells before it stores
    (
        3,
        {
            '            store.add(obj)\n            tell("update" if known else "add", key)': (
                '            tell("update" if known else "add", key)\n            store.add(obj)'
            )
        },
        "when you told 'add', the store had nothing, not the one with 1 replicas",
        "First store.add",
    ),
    (
        3,
        {
            '            store.delete(obj)\n            tell("delete", key)': (
                '            tell("delete", key)\n            store.delete(obj)'
            )
        },
        "when you told 'delete', the store had the one with 4 replicas, not nothing",
        "then tell",
    ),
    (3, {"store.delete(obj)": "pass"}, "the store still has a Foo", "store.delete takes both"),
    # it finds nothing
    (4, {}, "returned nothing", "controller_of"),
    (4, {"return [f": "return (f", 'name}"]': 'name}")'}, "the string 'default/a'", "a list of strings"),
    (4, {"owner is None or ": ""}, "without an owner: 'NoneType'", "returns None"),
    (4, {' or owner.kind != "Foo"': ""}, "`bars`, which no Foo controls", "Only a Foo counts"),
    (4, {"{deployment.metadata.namespace}/": ""}, "returned ['a']", "`namespace/name`"),
    (
        4,
        {"controller_of(deployment)": "next(iter(deployment.metadata.owner_references), None)"},
        "`loose`, which no Foo controls",
        "the controller counts",
    ),
    (
        4,
        {
            'indexer.by_index("foo", ': "[d for d in indexer.list() if by_foo(d) == ",
            '{name}")': '{name}".split()]',
        },
        "looked at all 5",
        "by_index",
    ),
    # it gives nothing back
    (6, {}, "still in `processing`", "done()"),
    (6, {"queue.done(key)": "pass"}, "`good` is still in `processing`", "needs its done()"),
    (
        6,
        {"queue.done": "key == 'bad' or queue.done"},
        "`bad` failed, and is still in `processing`",
        "after a failure, too",
    ),
    (6, {"queue.forget(key)": "pass"}, "2 failures still count", "forget(key)"),
    (6, {"queue.add_rate_limited(key)": "pass"}, "`bad` failed, and is lost", "add_rate_limited"),
    (6, {"add_rate_limited": "add"}, "without a pause", "waits longer each time"),
    (6, {"except Exception": "except KeyError"}, "ended when a sync raised", "Catch what sync raises"),
    (6, {"except ShutDown": "except KeyError"}, "did not return", "raises ShutDown"),
    (6, {"    while True:": "    for _ in range(1):"}, "did not run again", "Loop."),
    # it never waits longer
    (7, {}, "four failures wait [0.005, 0.005, 0.005, 0.005] s", "Count"),
    (7, {"min(before, 1000)": "(before + 1)"}, "the first failure waits 0.01 s", "*earlier*"),
    (7, {"2.0 ** min(before, 1000)": "(1 + before)"}, "0.015, 0.02] s", "Double"),
    (7, {"(key, 0)": "(0, 0)", "[key]": "[0]"}, "another key waits 0.08 s", "Count by key"),
    (7, {"min(before, 1000)": "before"}, "after very many failures", "Bound the exponent"),
    (7, {"return min(": "return max("}, "the first failure waits 1000 s", "0.005"),
    (7, {", 1000)\n\n": ", 9e9)\n\n"}, "a key waits 9e+09 s", "min()"),
    (7, {"self.failures.pop(key, None)": "pass"}, "after forget() the next failure waits", "Drop"),
    (7, {"self.failures.pop(key, None)": "self.failures.clear()"}, "second failure of b", "Of that key only"),
    (7, {"return self.failures.get(key, 0)\n": "return 0\n"}, "num_requeues is 0", "number of failures"),
    # it creates each time
    (8, {}, "already exists", "Look into the caches"),
    # it remembers what it made
    (
        8,
        {
            "def sync": "made = set()\n\ndef sync",
            "    if deployment is None:": (
                "    if name in made and deployment is None:\n        return\n    made.add(name)\n"
                "    if deployment is None:"
            ),
        },
        "did not make another",
        "It acted on the edge",
    ),
    (
        8,
        {"deployment.spec.replicas != foo.spec.replicas": "True"},
        "nothing had changed, and you sent 1",
        "what differs",
    ),
    (
        8,
        {"deployment.spec.replicas != foo.spec.replicas": "False"},
        "wants 3 replicas, its Deployment has 2",
        "Look into the caches",
    ),
    (8, {"not is_controlled_by(deployment, foo)": "False"}, "all is well", "is_controlled_by"),
    (8, {"if foo is None:": "if False:"}, "the Foo is gone, and your sync raised", "get_by_key returns None"),
    # it remembers what it sent
    (
        8,
        {
            "def sync": "sent = {}\n\ndef sync",
            "    elif foo.spec.replicas is not None and deployment.spec.replicas != foo.spec.replicas:": (
                "    elif sent.get(name) != (foo.spec.replicas, deployment.spec.replicas):\n"
                "        sent[name] = foo.spec.replicas, foo.spec.replicas"
            ),
        },
        "you sent 1 requests",
        "",
    ),
    # it swallows what the server refuses
    (
        8,
        {
            "def sync(": "def tried(call, *args, **named):\n    try:\n        call(*args, **named)\n"
            "    except Exception:\n        pass\n\ndef sync(",
            "server.patch(": "tried(server.patch, ",
        },
        "refused your patch with 500, and you said that all is well",
        "Let the error out",
    ),
    (
        8,
        {
            "        server.create(new_deployment(foo))": (
                "        try:\n            server.create(new_deployment(foo))\n        except Exception:\n"
                "            pass"
            )
        },
        "refused your create with 500, and you said that all is well",
        "Let the error out",
    ),
    (8, {"foo.spec.replicas is not None and ": ""}, "a Foo has no replicas", "foo.spec.replicas is None"),
    (
        8,
        {
            "foo.spec.replicas is not None and ": "",
            "!= foo.spec.replicas": "!= (foo.spec.replicas or 1)",
            "deployment, foo.spec.replicas)": "deployment, foo.spec.replicas or 1)",
        },
        "had 6, and you made 1 of them",
        "foo.spec.replicas is None",
    ),
    # it never reads again
    (9, {}, "your function ended with the Conflict", "read the Foo from the server"),
    (
        9,
        {'foo = foos.get("foo", namespace="default")': "pass"},
        "your function ended with the Conflict",
        "read",
    ),
    (
        9,
        {
            "range(1, 6)": "range(1, 10**9)",
            'foo = foos.get("foo", namespace="default")': "pass",
            "tries == 5": "False",
        },
        "the same old Foo again and again",
        "read the Foo from the server",
    ),
    (
        9,
        {"foos.update(evolve(foo,": "foos.update(evolve(evolve(foo, 'metadata.resource_version', ''),"},
        "the server refused your update",
        "Do not take it out",
    ),
    (
        9,
        {
            "    for tries": "    wanted = foo.spec.replicas + number\n    for tries",
            "foo.spec.replicas + number))": "wanted))",
        },
        "another added 3, and you 1: 6 are wanted, and the server has 3",
        "Compute the change anew",
    ),
    (9, {"range(1, 6)": "range(1, 10**9)", "tries == 5": "False"}, "you never gave up", "Count the tries"),
    (9, {"tries == 5": "tries == 3"}, "you gave up after 3", "Try 5 times"),
    (
        9,
        {"                raise": "                return foo"},
        "you said that all is well",
        "let the Conflict out",
    ),
    (
        9,
        {"    for tries": "    foo = foos.get('foo', namespace='default')\n    for tries"},
        "and you read it again",
        "Try the one you have",
    ),
    # whatever the error is, it tries again
    (9, {"except Conflict:": "except Exception:"}, "you asked the server 2 times", "Catch Conflict alone"),
    # it makes a bucket, and nothing else
    (13, {}, "there is a bucket, and the Foo has no finalizer", "before cloud.create"),
    (
        13,
        {"    add_finalizer(foos, foo, FINALIZER)\n    cloud.create(foo.metadata.uid)": BUCKET_FIRST},
        "there is a bucket, and the Foo has no finalizer",
        "before cloud.create",
    ),
    (13, {"if is_being_deleted(foo):": "if False:"}, "you did not delete the bucket", "is_being_deleted"),
    (13, {"        return\n": ""}, "there is a bucket again", "return"),
    (
        13,
        {"            remove_finalizer(foos, foo, FINALIZER)\n": ""},
        "still has its finalizer",
        "remove_finalizer",
    ),
    (
        13,
        {"except NoBucketError": "except KeyError"},
        "the next sync raised NoBucketError",
        "this step is done",
    ),
    (
        13,
        {"except NoBucketError": "except Exception"},
        "the cloud did not answer, and your sync said",
        "NoBucketError alone",
    ),
    (
        13,
        {
            "            try:": "            remove_finalizer(foos, foo, FINALIZER)\n            try:",
            "            remove_finalizer(foos, foo, FINALIZER)\n        return": "        return",
        },
        "the finalizer was gone before the bucket was",
        "cloud.delete before remove_finalizer",
    ),
    (
        13,
        {"if has_finalizer(foo, FINALIZER):": "if True:"},
        "and you asked the cloud again",
        "Clean up only if",
    ),
]


@pytest.mark.parametrize("number", EXERCISES)
def test_a_right_solution(number: int) -> None:
    """It is right in all that is checked."""
    text, count = RIGHT[number]
    report = judged(number, text)
    assert (report.wrong, len(report.right)) == ("", count)


@pytest.mark.parametrize(("number", "changes", "happened", "hint"), WRONG)
def test_a_wrong_solution_gets_its_own_hint(
    number: int, changes: dict[str, str], happened: str, hint: str
) -> None:
    """What happened, and where to look."""
    text = RIGHT[number][0] if changes else EXERCISES[number].start
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    report = judged(number, text)
    assert happened in report.wrong
    assert hint in report.hint
