"""The watch of Foos and MyApps is silent, as a half-open one is for more than a minute; all others live."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from handloop.testing.eventually import eventually as until
from support.rigs.foo_story import wait_available
from support.rigs.myapp_story import MyApps
from support.rigs.program import Run
from support.servers.cluster import Cluster
from support.servers.recording_proxy import RecordingProxy, recording

CHILDREN: Final = ("deployments", "services", "horizontalpodautoscalers")
NAMES: Final = {"foo", "app"}


def test_nothing_is_made_for_what_is_gone(cluster: Cluster, run: Run, tmp_path: Path) -> None:
    """
    A Foo and a MyApp with each kind of child are deleted unseen: no child is made again.

    Their successors get one child of each kind once the watches speak again.
    """
    apps = MyApps(cluster)
    apps.install()
    with (
        recording("stale", cluster.transport) as proxy,
        run("--controllers=*", kubeconfig=proxy.kubeconfig(tmp_path / "proxy.kubeconfig")) as program,
    ):
        program.wait_ready()
        make(cluster, apps)
        created = {plural: proxy.created(plural) for plural in CHILDREN}
        read = {owner: proxy.reads(owner) for owner in (f"{cluster.foos}/foo", f"{apps.apps}/app")}
        proxy.transport.hold("foos", "myapps")
        cluster.delete(cluster.foos, "foo")
        cluster.delete(apps.apps, "app")
        for owner, times in read.items():
            wait_asked(cluster, proxy, owner, times)
        for collection in (cluster.deployments, apps.services, apps.autoscalers):
            cluster.wait(collection, lambda found: not NAMES & set(found), "gone")
        proxy.transport.hold()
        make(cluster, apps)
        assert {plural: proxy.created(plural) for plural in CHILDREN} == {
            plural: 2 * times for plural, times in created.items()
        }
        assert program.stop() == 0


def make(cluster: Cluster, apps: MyApps) -> None:
    """A Foo and a MyApp, and wait until both have all that they want."""
    cluster.create_foo("foo", replicas=1)
    scaling = {"enabled": True, "maxReplicas": 2}
    apps.create("app", replicas=1, serviceType="LoadBalancer", autoScaling=scaling)
    wait_available(cluster, "foo", 1)
    apps.wait_ready("app", 1)


def wait_asked(cluster: Cluster, proxy: RecordingProxy, path: str, times: int) -> None:
    """Wait until the program has read an owner past its cache. It asks again after half a minute."""
    until(lambda: proxy.reads(path) > times, f"asked about {path}", seconds=cluster.seconds)
