"""A kind in several versions: one class each, of which the newest names the one before."""

from __future__ import annotations

import types
from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import Meta, ValidationError

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.versions import same_fields


class SpecV1Alpha1(APIStruct):
    """The first."""

    size: Annotated[int, Meta(ge=0, le=9)] = 1
    mode: Literal["a", "b"] = "a"


class SiteV1Alpha1(Kind, group="example.org", version="v1alpha1", kind="Site", short_names=("st",)):
    """The first."""

    deprecation_warning: ClassVar[str] = "hurry"
    spec: SpecV1Alpha1


class SpecV1Beta1(APIStruct):
    """With one field more."""

    size: Annotated[int, Meta(ge=0, le=9)] = 1
    mode: Literal["a", "b", "c"] = "a"
    note: str = ""


class SiteV1Beta1(Kind, group="example.org", version="v1beta1", kind="Site", previous=SiteV1Alpha1):
    """The second."""

    spec: SpecV1Beta1


class Spec(APIStruct):
    """With another one."""

    size: Annotated[int, Meta(ge=0)] = 1
    mode: str = "a"
    note: str = ""
    hosts: tuple[str, ...] = ()


class Site(Kind, group="example.org", version="v1", previous=SiteV1Beta1):
    """The newest."""

    spec: Spec


def test_a_definition_has_all_versions() -> None:
    """The newest is stored; those before it are served, and say that they are old."""
    versions = custom_resource_definition(Site)["spec"]["versions"]
    assert [(each["name"], each["served"], each["storage"]) for each in versions] == [
        ("v1", True, True),
        ("v1beta1", True, False),
        ("v1alpha1", True, False),
    ]
    assert [each.get("deprecationWarning") for each in versions] == [
        None,
        "example.org/v1beta1 Site is deprecated; use example.org/v1",
        "hurry",
    ]
    of_first = versions[2]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert set(of_first) == {"size", "mode"}


class Renamed(APIStruct):
    """Without size."""

    mode: str = "a"
    replicas: int = 1


class Tighter(APIStruct):
    """With less room."""

    size: Annotated[int, Meta(ge=0, le=5)] = 1
    mode: str = "a"


class Demanding(APIStruct):
    """With a field that must be given."""

    size: int = 1
    mode: str = "a"
    title: str


class Other(APIStruct):
    """With a field of another type."""

    size: str = "1"
    mode: str = "a"


class SiteRenamed(Kind, group="example.org", version="v1", kind="Site", previous=SiteV1Alpha1):
    """Would lose size."""

    spec: Renamed


class SiteTighter(Kind, group="example.org", version="v1", kind="Site", previous=SiteV1Alpha1):
    """Would not read a size of 6."""

    spec: Tighter


class SiteDemanding(Kind, group="example.org", version="v1", kind="Site", previous=SiteV1Alpha1):
    """Would not read one without a title."""

    spec: Demanding


class SiteOther(Kind, group="example.org", version="v1", kind="Site", previous=SiteV1Alpha1):
    """Would not read a number."""

    spec: Other


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (
            SiteRenamed,
            r"SiteV1Alpha1\.spec\.size: SiteRenamed has no such field, so a value written through v1alpha1",
        ),
        (
            SiteTighter,
            r"SiteV1Alpha1\.spec\.size: SiteTighter may be unable to read objects written through v1alpha1: ",
        ),
        (
            SiteDemanding,
            r"SiteV1Alpha1\.spec: .*is required now: title; keep the old field beside the new one",
        ),
        (SiteOther, r"SiteV1Alpha1\.spec\.size: .*the type changed from integer to string"),
    ],
)
def test_what_the_newest_cannot_hold_or_read_is_refused(kind: type[Kind], says: str) -> None:
    """The server copies no field from one version into another, and asks the schema of the request alone."""
    with pytest.raises(TypeError, match=says):
        custom_resource_definition(kind)


def _made(**names: Any) -> None:
    given = {"group": "example.org", "version": "v1", "kind": "Site", "previous": SiteV1Alpha1, **names}
    types.new_class("Made", (Kind,), given)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (
            {"group": "example.com"},
            "group is example.com, but example.org in SiteV1Alpha1: all versions must share it",
        ),
        ({"kind": "Page"}, "kind is Page, but Site in SiteV1Alpha1"),
        ({"scope": "Cluster"}, "namespaced is False, but True in SiteV1Alpha1"),
        ({"version": "v1alpha1"}, "SiteV1Alpha1 also has the version v1alpha1"),
        ({"version": "v1alpha1", "previous": SiteV1Beta1}, "SiteV1Alpha1 also has the version v1alpha1"),
        ({"previous": Spec}, "is not a kind"),
        ({"previous": "SiteV1Beta1"}, "previous='SiteV1Beta1' is not a kind"),
    ],
)
def test_what_is_no_earlier_version_is_refused(names: dict[str, Any], says: str) -> None:
    """When the class is made."""
    with pytest.raises(TypeError, match=says):
        _made(**names)


class Wide(APIStruct):
    """The size is a text, and the note another one."""

    size: str
    note: str = "n"
    hosts: tuple[str, ...] = ()


def test_a_struct_takes_over_the_fields_that_another_has() -> None:
    """By their names on the wire; what does not fit has to be given."""
    old = SpecV1Beta1(size=4, mode="b", note="m")
    assert same_fields(old, SpecV1Alpha1) == SpecV1Alpha1(size=4, mode="b")
    assert same_fields(old, Wide, size="4") == Wide(size="4", note="m")
    with pytest.raises(ValidationError, match="Expected `str`, got `int`"):
        same_fields(old, Wide)
    with pytest.raises(TypeError, match="size"):
        same_fields(Spec(), Wide, hosts=("h",), size=None)
