"""The options: one field is one flag, and carries all that reading it needs."""

from __future__ import annotations

from dataclasses import fields

import pytest

from handloop.controller.cli.flags import parse_options
from handloop.controller.cli.options import Options

FLAGS = [field for field in fields(Options) if "parse" in field.metadata]


@pytest.mark.parametrize("name", [field.name for field in FLAGS])
def test_every_field_is_explained_by_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a field has added its flag, its help and its environment variable."""
    metadata = next(field.metadata for field in FLAGS if field.name == name)
    command = metadata["commands"][0]
    with pytest.raises(SystemExit):
        parse_options(["--help"] if command == "run" else [command, "--help"], {})
    text = capsys.readouterr().out
    assert f"--{name.replace('_', '-')}" in text
    assert metadata["env"] in text


def test_no_two_fields_share_a_variable_or_a_letter() -> None:
    """Each environment variable and each short flag means one thing."""
    for key in ("env", "short"):
        said = [field.metadata[key] for field in FLAGS if field.metadata[key]]
        assert len(said) == len(set(said))


def test_no_namespace_means_all_of_them() -> None:
    """As -A says; an empty name beside others, or a name twice, adds nothing."""
    assert Options().namespaces == ()
    assert Options(namespace="demo").namespaces == ("demo",)
    assert Options(namespace=",a,,b, a").namespaces == ("a", "b")
