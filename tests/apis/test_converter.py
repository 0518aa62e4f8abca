"""Objects on their way between the versions of a kind."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import pytest

from handloop.apis.converter import ConversionError, Converter
from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.apis.meta import APIStruct, FrozenMap, Kind, ObjectMeta


class AlphaSpec(APIStruct):
    """Everything in one text."""

    address: str = ":80"


class Alpha(Kind, group="example.org", version="v1alpha1", kind="Site"):
    """The first."""

    spec: AlphaSpec = AlphaSpec()


class BetaSpec(APIStruct):
    """One field more, and no function."""

    address: str = ":80"
    note: str = ""


class Beta(Kind, group="example.org", version="v1beta1", kind="Site", previous=Alpha):
    """The second."""

    spec: BetaSpec = BetaSpec()


class TLS(APIStruct):
    """What no older version has."""

    secret: str
    least: str = "1.2"


class Spec(APIStruct):
    """The text in parts."""

    host: str = ""
    port: int = 80
    hosts: tuple[str, ...] = ()
    tls: TLS | None = None
    note: str = ""


class Site(Kind, group="example.org", version="v1", previous=Beta):
    """The newest."""

    kept_fields: ClassVar = ("spec.hosts", "spec.tls")
    spec: Spec = Spec()

    @classmethod
    def from_previous(cls, old: Beta) -> Site:
        """Takes the text apart."""
        host, _, port = old.spec.address.partition(":")
        spec = Spec(host=host, port=int(port), hosts=(host,) if host else (), note=old.spec.note)
        return cls(metadata=old.metadata, spec=spec)

    def to_previous(self) -> Beta:
        """Puts it together."""
        spec = BetaSpec(address=f"{self.spec.host}:{self.spec.port}", note=self.spec.note)
        return Beta(metadata=self.metadata, spec=spec)


SITES = Converter(Site)


def _site(version: str = "v1", metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    meta = {"name": "a", "namespace": "n", **(metadata or {})}
    return {"apiVersion": f"example.org/{version}", "kind": "Site", "metadata": meta, "spec": spec}


def test_the_functions_join_neighbours() -> None:
    """From the newest to the first the way leads through all of them; the object itself stays as it is."""
    site = _site(host="h", port=8080, note="n", hosts=["h"])
    before = deepcopy(site)
    assert SITES.convert(site, "example.org/v1beta1") == _site("v1beta1", address="h:8080", note="n")
    assert SITES.convert(_site("v1alpha1", address="h:8080"), "example.org/v1") == _site(
        host="h", port=8080, hosts=["h"]
    )
    assert SITES.convert(site, "example.org/v1") is site
    assert site == before


def test_metadata_stays_as_it_is() -> None:
    """Also what our types do not have."""
    metadata = {"managedFields": [{"manager": "m"}], "labels": {"a": "b"}, "selfLink": "x", "uid": "u"}
    converted = SITES.convert(_site("v1", metadata, host="h", hosts=["h"]), "example.org/v1alpha1")
    assert converted["metadata"] == {"name": "a", "namespace": "n", **metadata}


class Told(APIStruct, omit_defaults=False):
    """Written whole, whatever it holds."""

    ready: int = 0
    time: str = ""


class OldTeller(Kind, group="example.org", version="v1", kind="Teller"):
    """With a status."""

    status: Told = Told()


class Teller(Kind, group="example.org", version="v2", previous=OldTeller):
    """The same."""

    status: Told = Told()

    @classmethod
    def from_previous(cls, old: OldTeller) -> Teller:
        """As it is."""
        return cls(metadata=old.metadata, status=old.status)

    def to_previous(self) -> OldTeller:
        """As it is."""
        return OldTeller(metadata=self.metadata, status=self.status)


def test_an_object_without_a_status_gets_none() -> None:
    """The default may be one that no server takes; a status that is there is kept as it is."""
    tellers, head = Converter(Teller), {"kind": "Teller", "metadata": {"name": "a"}}
    bare = {**head, "apiVersion": "example.org/v1"}
    assert tellers.convert(bare, "example.org/v2") == {**head, "apiVersion": "example.org/v2"}
    told = {"status": {"ready": 0, "time": ""}}
    assert tellers.convert(bare | told, "example.org/v2") == {**head, **told, "apiVersion": "example.org/v2"}


def test_an_annotation_keeps_what_has_no_place() -> None:
    """On the way back it is gone, and everything is as it was."""
    site = _site(host="h", port=1, hosts=["h", "i"], tls={"secret": "s", "least": "1.3"})
    old = SITES.convert(site, "example.org/v1beta1")
    assert list(old["metadata"]["annotations"]) == ["example.org/kept-v1"]
    assert SITES.convert(old, "example.org/v1") == site
    # through a version that knows nothing of it, too
    assert SITES.convert(SITES.convert(site, "example.org/v1alpha1"), "example.org/v1") == site


def test_a_change_in_the_other_version_counts() -> None:
    """What was kept beside is no longer true."""
    old = SITES.convert(_site(host="h", port=1, hosts=["h", "i"]), "example.org/v1beta1")
    old["spec"]["address"] = "j:1"
    assert SITES.convert(old, "example.org/v1") == _site(host="j", port=1, hosts=["j"])
    old["spec"]["address"] = "h:2"  # nothing of which it is made
    assert SITES.convert(old, "example.org/v1") == _site(host="h", port=2, hosts=["h", "i"])


def test_a_field_that_the_functions_invent_is_not_there_afterwards() -> None:
    """Its absence is kept."""
    site = _site(host="h", port=80)
    old = SITES.convert(site, "example.org/v1beta1")
    assert SITES.convert(old, "example.org/v1") == site


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        "[" * 5000,
        '{"spec.tls":1}',
        '{"spec.tls":{"made":"","is":{"secret":7}}}',
        '{"spec.tls":{"made":"","is":"x"}}',
        '{"spec.tls":{"made":"x","is":{"secret":"s"}}}',
        '{"metadata.name":{"made":"","is":"b"},"spec.port":{"made":"","is":0}}',
    ],
)
def test_an_annotation_that_does_not_fit_is_left_out(text: str) -> None:
    """Anybody who may write the object may write it."""
    old = _site("v1beta1", {"annotations": {"example.org/kept-v1": text}}, address="h:80")
    assert SITES.convert(old, "example.org/v1") == _site(host="h", port=80, hosts=["h"])


def test_objects_that_no_function_takes_are_named() -> None:
    """With the place of what does not fit."""
    with pytest.raises(ConversionError, match=r"^Site n/a: Site.from_previous raised ValueError: invalid"):
        SITES.convert(_site("v1beta1", address="h"), "example.org/v1")
    with pytest.raises(ConversionError, match=r"Site n/a: is no v1: Expected `int`.*\$\.spec\.port"):
        SITES.convert(_site(port="80"), "example.org/v1alpha1")
    with pytest.raises(
        ConversionError, match=r"has no version example\.org/v2: its versions are example\.org/v1, "
    ):
        SITES.convert(_site(), "example.org/v2")
    with pytest.raises(ConversionError, match="Site has no version None"):
        SITES.convert({"kind": "Site"}, "example.org/v1")


class Wrong(Kind, group="example.org", version="v2", kind="Site", previous=Site):
    """Its functions do what the argument says."""

    does: ClassVar[Any]
    spec: Spec = Spec()

    @classmethod
    def from_previous(cls, old: Site) -> Any:
        """By the test."""
        return cls.does(old)

    def to_previous(self) -> Any:
        """By the test."""
        return type(self).does(self)


@pytest.mark.parametrize(
    ("does", "told"),
    [
        (lambda _: Wrong(), "changes metadata.name: hand its metadata on"),
        (lambda _: Wrong(metadata=ObjectMeta(name="a", namespace="n", uid="x")), "changes metadata.uid"),
        (lambda _: None, "returned a NoneType, not a Wrong"),
        (lambda old: old, "returned a Site, not a Wrong"),
        (lambda _: 1 / 0, "raised ZeroDivisionError: division by zero"),
    ],
)
def test_functions_that_do_what_the_server_would_refuse(
    does: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says which one."""
    monkeypatch.setattr(Wrong, "does", staticmethod(does), raising=False)
    with pytest.raises(ConversionError, match=f"^Site n/a: Wrong.from_previous {told}"):
        Converter(Wrong).convert(_site(), "example.org/v2")


def test_functions_may_change_labels_and_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the server allows."""
    metadata = ObjectMeta(name="a", namespace="n", labels=FrozenMap(l="1"), annotations=FrozenMap(b="2"))

    def changes(obj: Any) -> Any:
        return (Site if isinstance(obj, Wrong) else Wrong)(metadata=metadata)

    monkeypatch.setattr(Wrong, "does", staticmethod(changes), raising=False)
    made = Converter(Wrong).convert(_site(metadata={"annotations": {"a": "1"}, "uid": ""}), "example.org/v2")
    assert made["metadata"] == {
        "name": "a",
        "namespace": "n",
        "uid": "",
        "labels": {"l": "1"},
        "annotations": {"b": "2"},
    }


def test_a_definition_names_the_webhook() -> None:
    """Only where functions join the versions."""
    conversion = custom_resource_definition(Site)["spec"]["conversion"]
    assert conversion == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"name": "webhook", "namespace": "default", "path": "/convert", "port": 443}
            },
            "conversionReviewVersions": ["v1"],
        },
    }
    outside = custom_resource_definition(Site, WebhookService(url="https://127.0.0.1:9443/"))
    client = outside["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client == {"url": "https://127.0.0.1:9443/convert"}
    assert "conversion" not in custom_resource_definition(Beta)["spec"]


def test_one_function_alone_is_refused() -> None:
    """And one without a version before."""
    with pytest.raises(
        TypeError, match="Half has from_previous but no to_previous: objects are converted in both"
    ):

        class Half(Kind, group="example.org", version="v1", kind="Site", previous=Alpha):
            @classmethod
            def from_previous(cls, old: Alpha) -> Any: ...

    with pytest.raises(TypeError, match=r"Alone.to_previous needs a previous version"):

        class Alone(Kind, group="example.org", version="v1", kind="Site"):
            def to_previous(self) -> Any: ...


def test_kept_fields_without_functions_are_refused() -> None:
    """The server would drop them, without a word."""

    class Keeps(Kind, group="example.org", version="v1", kind="Site", previous=Alpha):
        kept_fields: ClassVar = ("spec.note",)
        spec: BetaSpec = BetaSpec()

    with pytest.raises(
        TypeError, match=r"remove Keeps\.kept_fields: it has no effect without conversion functions"
    ):
        custom_resource_definition(Keeps)


@pytest.mark.parametrize("path", ["spec.nothing", "metadata.labels", "spec.hosts.x", "specs", ""])
def test_a_kept_field_that_is_none_is_refused(path: str) -> None:
    """Otherwise it would be lost without a word."""

    class Keeps(Kind, group="example.org", version="v1", kind="Site", previous=Alpha):
        kept_fields: ClassVar = (path,)
        spec: Spec = Spec()

        @classmethod
        def from_previous(cls, old: Alpha) -> Any: ...

        def to_previous(self) -> Any: ...

    with pytest.raises(TypeError, match=r"Keeps.kept_fields: .* is not the path of a field"):
        custom_resource_definition(Keeps)


class NeedySpec(APIStruct):
    """A required field."""

    address: str
    size: int = 1


class Needy(Kind, group="example.org", version="v1beta1", kind="Shop"):
    """Nothing of it is optional."""

    spec: NeedySpec


class ShopSpec(APIStruct):
    """The field has another name."""

    place: str
    hosts: tuple[str, ...] = ()
    size: int = 1


class Shop(Kind, group="example.org", version="v1", previous=Needy):
    """Nor of this."""

    kept_fields: ClassVar = ("spec.hosts",)
    spec: ShopSpec

    @classmethod
    def from_previous(cls, old: Needy) -> Shop:
        """Renames."""
        return cls(metadata=old.metadata, spec=ShopSpec(place=old.spec.address, size=old.spec.size))

    def to_previous(self) -> Needy:
        """Renames back."""
        return Needy(metadata=self.metadata, spec=NeedySpec(address=self.spec.place, size=self.spec.size))


def test_what_a_server_has_pruned_is_converted() -> None:
    """
    When an applier no longer wants a field, or applies in another version.

    A server then converts what is left, and refuses the apply if it cannot.
    """
    shops, head = Converter(Shop), {"kind": "Shop", "metadata": {"name": "a"}}
    v1, v1beta1 = "example.org/v1", "example.org/v1beta1"
    assert shops.convert({**head, "apiVersion": v1}, v1beta1) == {**head, "apiVersion": v1beta1}
    assert shops.convert({**head, "apiVersion": v1beta1}, v1) == {**head, "apiVersion": v1}
    assert shops.convert({"kind": "Shop", "apiVersion": v1}, v1beta1)["metadata"] == {}
    part = {**head, "apiVersion": v1, "spec": {"hosts": ["h"]}}
    beta = shops.convert(part, v1beta1)
    assert beta["spec"] == {"address": "", "size": 1}
    assert shops.convert(beta, v1)["spec"]["hosts"] == ["h"]
    with pytest.raises(ConversionError, match="Shop a: is no v1: Expected `int`, got `str`"):
        shops.convert({**part, "spec": {"size": "x"}}, v1beta1)
