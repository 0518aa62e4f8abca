from __future__ import annotations

import types
from enum import StrEnum
from typing import Any, ClassVar

import pytest

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.conditions import Condition
from handloop.apis.crd import PrinterColumn, custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.controller.runtime.rbac.roles import user_roles
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.stalled import can_stall


class Part(APIStruct):
    """With what its author needs."""

    LONGEST = 5
    shortest: ClassVar[int] = 1
    size: int = 3

    @property
    def is_long(self) -> bool:
        return self.size == self.LONGEST

    def grown(self) -> int:
        return self.size + 1

    class Colour(StrEnum):
        """A word."""

        RED = "red"


class Reported(APIStruct):
    """With conditions."""

    count: int = 0
    conditions: tuple[Condition, ...] = ()


class Thing(Kind, group="example.org", version="v1"):
    """Everybody who may write it may write its status."""

    status_subresource = False
    status: Reported = Reported()


class Usual(Kind, group="example.org", version="v1"):
    """Its status is its controller's."""

    status: Reported = Reported()


class Mixed(Part):
    """Inherits it."""


def _kind(attributes: dict[str, Any], struct: type[APIStruct] = Part) -> type[Kind]:
    body = {"__annotations__": {"part": struct}, "__module__": __name__, **attributes}
    names = {"group": "example.org", "version": "v1"}
    return types.new_class("Thing", (Kind,), names, lambda namespace: namespace.update(body))


def test_what_a_class_is_for_may_stand_in_it() -> None:
    """Constants, methods, properties, types: also of a base."""
    for struct in (Part, Mixed):
        assert custom_resource_definition(
            _kind({"FINALIZER": "example.org/x", "categories": ("all",)}, struct)
        )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("versions", "a class describes one version"),
        ("conversion", "a class describes one version"),
        ("served", "a class describes one version"),
        ("crd_labels", "write a constant of your own in capitals, or annotate it as a ClassVar"),
        ("printer_column", "did you mean printer_columns?"),
        ("crd_rule", "did you mean crd_rules?"),
    ],
)
def test_an_attribute_that_means_nothing_is_refused(name: str, says: str) -> None:
    """It would be left out of the definition without a word."""
    with pytest.raises(TypeError, match=f"nothing uses Thing.{name}: ") as refused:
        custom_resource_definition(_kind({name: ("a",)}))
    assert says in str(refused.value)


def test_a_struct_says_less_than_a_kind() -> None:
    """Columns are no struct's; and a misspelt rule of a base is found, too."""

    class Slip(APIStruct):
        crd_requird: ClassVar[tuple[str, ...]] = ()
        size: int = 1

    class Below(Slip):
        pass

    class Columns(APIStruct):
        printer_columns = (PrinterColumn(name="A", type="string", json_path=".a"),)

    with pytest.raises(TypeError, match=r"Slip\.crd_requird: did you mean crd_required\?"):
        custom_resource_definition(_kind({}, Below))
    with pytest.raises(TypeError, match=r"nothing uses Columns\.printer_columns"):
        custom_resource_definition(_kind({}, Columns))


def test_a_status_may_be_without_its_subresource() -> None:
    """Then nobody is given access to it, the runtime reports nothing there, and a write of it is refused."""
    for kind, has_one in ((Thing, False), (Usual, True)):
        assert has_status_subresource(kind) == has_one
        (version,) = custom_resource_definition(kind)["spec"]["versions"]
        assert ("subresources" in version) == has_one
        assert ("status" in str(user_roles(kind)[0]["rules"])) == has_one
        assert can_stall(kind) == has_one
    thing = Thing.named("a", namespace="default")
    with pytest.raises(TypeError, match="Thing has status_subresource = False: patch the object itself"):
        Context().update_status(thing, Reported(count=1))
