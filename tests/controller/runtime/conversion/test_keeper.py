"""A definition's conversion, kept as it has to be, on a sandbox."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.controller.runtime.conversion.keeper import Definition, FileKeeper, Keeper, Place
from handloop.controller.runtime.conversion.material import Secret, material_of, read_secret
from handloop.controller.runtime.conversion.trust import NO_PAIR, Lifetimes, Material, Trust
from handloop.controller.runtime.reconcile import ReconcileError, Result
from handloop.controller.runtime.serving.key_pairs import certificates_in, new_pair
from handloop.informers.keys import ObjectName
from handloop.testing.fake_clock import FakeClock
from handloop.testing.managed_sandbox import post
from support.builders.converted_sites import Site
from support.rigs.context_rig import Tools

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SITES, SHOPS = "sites.example.org", "shops.example.org"
NAME = ObjectName("default", "shop-webhook")
SERVICE = WebhookService(name=NAME.name, namespace=NAME.namespace)
GRACE = timedelta(minutes=1)


class World:
    """A cluster with definitions, and the keeper of a program."""

    def __init__(self, trust: type[Trust] = Trust, **versions: tuple[str, ...]) -> None:
        self.tools = Tools()
        self.clock = FakeClock()
        self.versions = {f"{plural}.example.org": each for plural, each in versions.items()}
        self.place = Place(webhook=SERVICE, secret=NAME, versions=self.versions)
        hosts = (f"{NAME.name}.{NAME.namespace}.svc",)
        self.trust = trust(NAME.name, hosts, Lifetimes(grace=GRACE))
        self.keeper = Keeper(self.place, self.trust, self.clock)
        for plural in versions:
            self.define(plural)

    def define(self, plural: str, *, versions: tuple[str, ...] = ("v1", "v1beta1"), **spec: Any) -> None:
        """As the manifests do: without an authority."""
        document = custom_resource_definition(Site, SERVICE)
        kind = plural.capitalize()
        document["metadata"]["name"] = f"{plural}.example.org"
        document["spec"]["names"] = {"plural": plural, "kind": kind, "listKind": f"{kind}List"}
        (first, *_) = document["spec"]["versions"]
        document["spec"]["versions"] = [{**first, "name": each, "storage": each == "v1"} for each in versions]
        post(self.tools.sandbox, CRDS, {**document, "spec": document["spec"] | spec})

    def definition(self, name: str = SITES) -> Definition:
        """As it is."""
        found: Definition = self.tools.admin.resource(Definition).get(name)
        return found

    def look(self, name: str = SITES) -> Result:
        """A reconcile."""
        return self.keeper.reconcile(self.definition(name), self.tools.context)

    def settle(self, *names: str) -> None:
        """Until there is nothing to write."""
        before = None
        while before != self.state():
            before = self.state()
            for name in names or (SITES,):
                self.look(name)

    def state(self) -> tuple[Any, ...]:
        """All that a keeper may write."""
        secret = read_secret(self.tools.admin, NAME)
        return (secret, *(self.tools.admin.resource(Definition).list().items))

    def patch(self, spec: Any, name: str = SITES) -> None:
        """An administrator's change."""
        self.tools.admin.resource(Definition).patch(name, {"spec": spec})

    def edit_secret(self, **data: bytes | None) -> None:
        """The same of the Secret."""
        patch = {key: value and b64encode(value).decode() for key, value in data.items()}
        self.tools.admin.resource(Secret).patch(NAME.name, {"data": patch}, namespace=NAME.namespace)

    @property
    def material(self) -> Material:
        """What the Secret holds."""
        return material_of(read_secret(self.tools.admin, NAME))

    def is_right(self, name: str = SITES) -> bool:
        """Whether a definition leads to a webhook that it trusts."""
        definition = self.definition(name)
        conversion, pair = definition.spec.conversion, certificates_in(self.material.pair.certificate)
        place = conversion.webhook.client_config.service if conversion.webhook is not None else None
        if conversion.strategy != "Webhook" or place is None or not pair:
            return False
        trusted = certificates_in(definition.bundle)
        return (place.name, place.path, place.port) == (NAME.name, "/convert", 443) and any(
            each.subject == pair[0].issuer and _signed(each, pair[0]) for each in trusted
        )


def _signed(authority: Any, certificate: Any) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:
        return False
    return True


def both(trust: type[Trust] = Trust) -> World:
    """A world of one definition with two versions."""
    return World(trust, sites=("v1", "v1beta1"))


def test_an_authority_is_trusted_before_it_signs() -> None:
    """Then nothing is written until a renewal."""
    world = both()
    world.look()
    assert world.material.pair == NO_PAIR
    assert world.definition().bundle == world.material.authorities
    world.look()
    assert world.is_right()
    before = world.state()
    for _ in range(5):
        assert world.look().requeue_after == 15
        world.clock.advance(3600)
    assert world.state() == before
    world.clock.advance(timedelta(hours=18).total_seconds())
    world.look()
    assert world.state() != before
    assert world.is_right()


NONE_OF_OURS = b64encode(new_pair("other", 1_700_000_000.0, timedelta(days=1)).certificate).decode()


@pytest.mark.parametrize(
    "conversion",
    [
        {"strategy": "None", "webhook": None},
        {"webhook": {"clientConfig": {"caBundle": None}}},
        {"webhook": {"clientConfig": {"caBundle": NONE_OF_OURS}}},
        {"webhook": {"clientConfig": {"service": {"name": "other"}}}},
        {"webhook": {"clientConfig": {"service": {"path": None, "port": None}}}},
        {"webhook": {"clientConfig": {"service": None, "url": "https://example.org/convert"}}},
    ],
)
def test_an_administrators_change_is_put_right(conversion: dict[str, Any]) -> None:
    """Whatever else the definition says stays, and the certificate goes on."""
    world = both()
    world.settle()
    pair = world.material.pair
    world.patch({"conversion": conversion, "names": {"categories": ["all"]}})
    assert not world.is_right()
    world.settle()
    assert world.is_right()
    assert world.material.pair == pair


@pytest.mark.parametrize(
    "lose",
    [
        lambda world: world.tools.admin.resource(Secret).delete(NAME.name, namespace=NAME.namespace),
        lambda world: world.edit_secret(**{"ca.crt": None, "ca.key": None, "tls.crt": None, "tls.key": None}),
        lambda world: world.edit_secret(**{"ca.key": b"x"}),
        lambda world: world.edit_secret(**{"ca.crt": b"\xff\0"}),
    ],
)
def test_a_lost_authority_has_a_successor_and_stays_trusted(lose: Callable[[World], None]) -> None:
    """Replicas serve with what it has signed, until they have seen the next."""
    world = both()
    world.settle()
    old, trusted = certificates_in(world.material.pair.certificate)[0], world.definition().bundle
    lose(world)
    world.settle()
    assert any(_signed(each, old) for each in certificates_in(world.definition().bundle))
    world.clock.advance(2 * GRACE.total_seconds())
    world.settle()
    assert world.is_right()
    assert world.definition().bundle != trusted
    assert any(_signed(each, old) for each in certificates_in(world.definition().bundle))


def test_a_pair_of_somebody_else_is_replaced() -> None:
    """At the next look, by the authority that is there."""
    world = both()
    world.settle()
    authorities, other = world.material.authorities, new_pair("x", world.clock.time(), timedelta(days=1))
    world.edit_secret(**{"tls.crt": other.certificate, "tls.key": other.key})
    world.settle()
    assert world.is_right()
    assert world.material.authorities == authorities


def test_the_webhook_is_trusted_before_the_definition_needs_it() -> None:
    """That of the release before, of one version, leads to it already; the next is right from the first."""
    world = World(sites=("v1", "v1beta1"))
    world.tools.admin.resource(Definition).delete(SITES)
    world.define("sites", versions=("v1",), conversion={"strategy": "None"})
    world.settle()
    assert world.is_right()
    before, pair = world.definition().bundle, world.material.pair
    next_ = custom_resource_definition(Site, SERVICE)["spec"]
    world.patch({name: next_[name] for name in ("versions", "conversion")})
    assert len(world.definition().spec.versions) == 2
    assert world.is_right()
    assert (world.definition().bundle, world.material.pair) == (before, pair)


def test_a_certificate_waits_for_every_definition() -> None:
    """Not for one that is missing, nor for one that converts nothing."""
    world = World(sites=("v1", "v1beta1"), shops=("v1", "v1beta1"))
    world.look(SITES)
    world.look(SITES)
    assert world.material.pair == NO_PAIR
    world.settle(SITES, SHOPS)
    assert world.is_right(SITES)
    assert world.is_right(SHOPS)
    world.tools.admin.resource(Definition).delete(SHOPS)
    for is_there in (False, True):
        if is_there:
            world.define("shops", conversion={"strategy": "None"})
        world.tools.admin.resource(Secret).delete(NAME.name, namespace=NAME.namespace)
        world.settle(SITES)
        world.clock.advance(2 * GRACE.total_seconds())
        world.settle(SITES)
        assert world.is_right(SITES)


class Raced(Trust):
    """Somebody else writes the Secret between the read and the write."""

    def step(self, given: Any, trusted: Any, now: float) -> Any:
        """Once more."""
        self.meddle()  # type: ignore[attr-defined]
        return super().step(given, trusted, now)


@pytest.mark.parametrize("exists", [False, True])
def test_of_two_leaders_the_later_writer_looks_again(exists: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition is left alone until then."""
    world = both(Raced)
    secrets = world.tools.admin.resource(Secret)

    def create() -> None:
        secrets.create(Secret.named(NAME.name, namespace=NAME.namespace))

    def edit() -> None:
        world.edit_secret(**{"tls.crt": b"theirs"})

    if exists:
        create()
    monkeypatch.setattr(Raced, "meddle", lambda _: (edit if exists else create)(), raising=False)
    before = world.definition()
    assert world.look().requeue_after == 1
    assert world.definition() == before
    monkeypatch.setattr(Raced, "meddle", lambda _: None, raising=False)
    world.settle()
    assert world.is_right()


def test_a_definition_with_newer_versions_is_left_to_the_program_that_knows_them() -> None:
    """Two releases would undo each other; the certificates of this one go on."""
    world = both()
    world.settle()
    versions = custom_resource_definition(Site)["spec"]["versions"]
    newer = [{**versions[0], "name": "v2", "storage": False}]
    world.patch({"versions": [*versions, *newer]})
    world.edit_secret(**{"tls.crt": b""})
    world.settle()
    assert world.is_right()
    for change in ({"service": {"name": "newer"}}, {"service": None, "url": "https://example.org/convert"}):
        world.patch({"conversion": {"webhook": {"clientConfig": change}}})
        before = world.definition()
        said = f"left the webhook of {SITES} unchanged: this program does not know v2"
        with pytest.raises(ReconcileError, match=said):
            world.look()
        assert world.definition() == before
    world.patch({"conversion": {"strategy": "None", "webhook": None}})
    world.settle()
    assert world.is_right()


class Files:
    """The folder of somebody else's certificates."""

    def __init__(self) -> None:
        self.authorities: bytes | None = None

    def __call__(self) -> bytes | None:
        return self.authorities


def test_with_files_their_authority_is_written_if_they_have_one() -> None:
    """Else somebody else puts it into the definition, as cert-manager's injector."""
    world, files = both(), Files()
    keeper = FileKeeper(world.place, files)
    injected, other = (
        new_pair(name, world.clock.time(), timedelta(days=1)).certificate for name in ("a", "b")
    )
    change = {"clientConfig": {"caBundle": b64encode(injected).decode(), "service": {"name": "other"}}}
    world.patch({"conversion": {"webhook": change}})

    def look() -> bytes:
        assert keeper.reconcile(world.definition(), world.tools.context).requeue_after == 15
        return world.definition().bundle

    assert look() == injected
    assert "other" not in repr(world.definition())
    files.authorities = other
    assert look() == other
