from __future__ import annotations

from collections.abc import Iterator

import pytest

from apis.apps_v1 import Deployment
from apis.samplecontroller_v1alpha1 import Foo
from informers.identity import InformerName, InformerNameError, identifier_for
from support.captured_logs import captured_logs

NAME = "test-identity"


@pytest.fixture
def name() -> Iterator[InformerName]:
    name = InformerName(NAME)
    yield name
    name.release()


def test_an_empty_name_is_refused() -> None:
    """STO-24: a name says something. Follows TestNewInformerName, as the next two."""
    with pytest.raises(InformerNameError, match=r"^informer name cannot be empty$"):
        InformerName("")


def test_a_name_is_unique(name: InformerName) -> None:
    """STO-24: the second owner is refused."""
    assert name.name == NAME
    with pytest.raises(InformerNameError, match=f'^informer name "{NAME}" is already registered$'):
        InformerName(NAME)


def test_a_released_name_is_free(name: InformerName) -> None:
    """STO-24: and releasing twice does not take it from its next owner."""
    name.release()
    again = InformerName(NAME)
    name.release()
    with pytest.raises(InformerNameError, match="already registered"):
        InformerName(NAME)
    again.release()


def test_the_first_identifier_is_reserved(name: InformerName) -> None:
    """STO-25: of two for one resource, the first; the second is logged. Follows TestWithResource."""
    first = name.with_resource(Foo.resource)
    with captured_logs() as entries:
        second = name.with_resource(Foo.resource)
    assert first.is_reserved()
    assert not second.is_reserved()
    assert name.with_resource(Deployment.resource).is_reserved()
    assert (first.name, first.resource) == (NAME, Foo.resource)
    assert [(entry["event"], entry["informerName"]) for entry in entries] == [
        ("Duplicate informer registration - metrics will not be published", NAME)
    ]


def test_release_ends_reservations(name: InformerName) -> None:
    """STO-25: neither is reserved afterwards, nor a new one. Follows TestRelease."""
    identifier = name.with_resource(Foo.resource)
    name.release()
    assert not identifier.is_reserved()
    with captured_logs():
        assert not name.with_resource(Foo.resource).is_reserved()


def test_without_a_name_nothing_is_reserved() -> None:
    """Two nameless informers must not publish as one."""
    identifier = identifier_for(None, Foo.resource)
    assert not identifier.is_reserved()
    assert identifier.name == ""


def test_identifier_for_a_name(name: InformerName) -> None:
    """The same as asking the name."""
    assert identifier_for(name, Foo.resource).is_reserved()
