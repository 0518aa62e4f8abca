"""What options mean where the program runs: leader election above all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.cli.surroundings import options_here

ELECT = {"leader_elect": True}
NOWHERE = "/nowhere"


def test_usual_durations() -> None:
    """15 s, 10 s, 2 s; off unless asked for, under the program's name."""
    options = parse_options([], {})
    assert not options.leader_elect
    assert (options.leader_elect_lease_duration, options.leader_elect_renew_deadline) == (15.0, 10.0)
    assert (options.leader_elect_retry_period, options.leader_elect_resource_name) == (2.0, "handloop")


@pytest.mark.parametrize(
    ("words", "on"),
    [
        (["--leader-elect"], True),
        (["-leader-elect"], True),
        (["--leader-elect=true"], True),
        (["--leader-elect=false"], False),
        (["--leader-elect", "-n", "demo"], True),
    ],
)
def test_the_switch_is_as_with_go(words: list[str], on: bool) -> None:
    """Bare means true; a value needs an equals sign or stands alone."""
    options = parse_options([*words, "--leader-elect-resource-namespace=demo"], {})
    assert options.leader_elect is on


def test_the_environment_can_switch_it_on() -> None:
    """And a flag switches it off again."""
    environment = {"CONTROLLER_LEADER_ELECT": "true", "POD_NAMESPACE": "demo"}
    assert parse_options([], environment).leader_elect
    assert not parse_options(["--leader-elect=false"], environment).leader_elect


@pytest.mark.parametrize(
    ("word", "text", "lease", "retry"),
    [
        ("lease-duration=10s", "leaseDuration must be greater than renewDeadline", "10s", "2s"),
        ("retry-period=9s", "renewDeadline must be greater than retryPeriod*JitterFactor", "15s", "9s"),
        ("retry-period=0s", "retryPeriod must be greater than zero", "15s", "0s"),
        (
            "lease-duration=10.5s",
            "leaseDuration counts as 10s for others, which must be greater than renewDeadline",
            "10.5s",
            "2s",
        ),
    ],
)
def test_durations_that_do_not_go_together_are_refused(word: str, text: str, lease: str, retry: str) -> None:
    """D04, LE-16: with client-go's words, and all values."""
    with pytest.raises(UsageError) as error:
        parse_options([f"--leader-elect-{word}"], {})
    said = (
        f"--leader-elect-lease-duration={lease} --leader-elect-renew-deadline=10s "
        f"--leader-elect-retry-period={retry}"
    )
    assert str(error.value) == f"{text} ({said})"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("--leader-elect=maybe", '"maybe" is neither true nor false'),
        (
            "--leader-elect-resource-name=Foo",
            '"Foo" is not a name: use lower case letters, digits, "-" and "."',
        ),
    ],
)
def test_values_are_checked(word: str, text: str) -> None:
    """With the name of the flag."""
    with pytest.raises(UsageError) as error:
        parse_options([word], {})
    assert str(error.value) == f"{word.partition('=')[0]}: {text}"


def test_less_than_a_second_is_refused() -> None:
    """LE-26: it would be written as 0, which expires at once, and which a server does not take."""
    words = ["lease-duration=900ms", "renew-deadline=500ms", "retry-period=100ms"]
    with pytest.raises(UsageError, match="leaseDuration counts as 0s for others"):
        parse_options([f"--leader-elect-{word}" for word in words], {})


def test_in_a_cluster_the_lease_is_in_the_programs_own_namespace(tmp_path: Path) -> None:
    """From the downward API, else from the service account, as controller-runtime."""
    assert namespace(ELECT, {"POD_NAMESPACE": "one"}, str(tmp_path)) == "one"
    (tmp_path / "namespace").write_text("two\n", encoding="utf-8")
    assert namespace(ELECT, {}, str(tmp_path)) == "two"
    given = {**ELECT, "leader_elect_resource_namespace": "three"}
    assert namespace(given, {"POD_NAMESPACE": "one"}, str(tmp_path)) == "three"


def test_outside_a_cluster_the_namespace_has_to_be_said() -> None:
    """A usage error, not a lease in a namespace that nobody thought of."""
    with pytest.raises(ValueError, match="needs --leader-elect-resource-namespace=NAME"):
        namespace(ELECT, {}, NOWHERE)
    assert namespace({}, {}, NOWHERE) == ""


def test_the_sandbox_has_a_namespace_for_it() -> None:
    """Trying things out needs no flags."""
    assert namespace({**ELECT, "sandbox": True}, {}, NOWHERE) == "default"


def test_a_manifest_leaves_the_namespace_open() -> None:
    """The namespace is that of whoever applies it."""
    assert parse_options(["manifests", "rbac", "--leader-elect"], {}).leader_elect_resource_namespace == ""


def namespace(given: Mapping[str, object], environment: Mapping[str, str], folder: str) -> str:
    """The namespace of the lease."""
    return options_here(given, environment, folder).leader_elect_resource_namespace
