from __future__ import annotations

import yaml

from handloop.picture.steps import PACKAGE
from handloop_learn import ch00_tour
from handloop_learn.stage import SAMPLE
from support.checks.chapters import told

ALL = set(range(1, 13))


def test_the_controller_makes_the_deployment_and_makes_it_again() -> None:
    """The controller wrote it; all steps ran, before the deletion and after it."""
    end, text = told(ch00_tour.chapter)
    assert end.creator == "sample-controller"
    assert end.before == ALL
    assert end.after >= ALL - {1}  # an open watch may need no further round
    assert any("500" in error or "InternalError" in error for error in end.errors)
    assert end.first_uid != end.second_uid
    assert end.second_uid in text


def test_the_applied_foo_is_the_sample() -> None:
    """The chapter applies what README applies."""
    sample = PACKAGE.parent / "manifests/samples/foo.yaml"
    assert yaml.safe_load(sample.read_text(encoding="utf-8")) == SAMPLE
