"""The options: one field is one flag, and carries all that reading it needs."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest

from handloop.controller.cli.options import FLAGS, Options, spelling
from handloop.controller.program import PROGRAM
from support.builders.options import new_options, parse_options


@pytest.mark.parametrize("name", FLAGS)
def test_every_field_is_explained_by_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a field has added its flag, its help and its environment variable."""
    command = FLAGS[name].commands[0]
    with pytest.raises(SystemExit):
        parse_options(["--help"] if command == "run" else [command, "--help"], {})
    text = capsys.readouterr().out
    assert f"--{name.replace('_', '-')}" in text
    assert FLAGS[name].variable(name, PROGRAM) in text


def test_every_field_is_read() -> None:
    """As `options.NAME`, or by Options: a flag that nobody reads would be taken, and do nothing."""
    folder = Path(inspect.getfile(Options)).parent
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    read = {*re.findall(r"options\.(\w+)", texts), *re.findall(r"self\.(\w+)", inspect.getsource(Options))}
    assert set(FLAGS) - read == set()


def test_no_two_fields_share_a_variable_or_a_letter() -> None:
    """Each environment variable and each short flag means one thing."""
    variables = [flag.variable(name, PROGRAM) for name, flag in FLAGS.items() if flag.env]
    letters = [flag.short for flag in FLAGS.values() if flag.short]
    for said in (variables, letters):
        assert len(said) == len(set(said))


def test_a_variable_is_named_after_its_option() -> None:
    """But for those that people know by another name."""
    named = {name: flag.variable(name, PROGRAM) for name, flag in FLAGS.items()}
    assert named["kube_api_qps"] == "CONTROLLER_KUBE_API_QPS"
    assert (named["verbosity"], named["kubeconfig"], named["output"]) == ("CONTROLLER_V", "KUBECONFIG", "")
    assert spelling("kube_api_qps") == "--kube-api-qps"


def test_variables_begin_with_the_name_of_the_operator(capsys: pytest.CaptureFixture[str]) -> None:
    """Not with that of another one, whose settings they would be; --help lists them."""
    operator = replace(PROGRAM, name="my.greeter-2", variables="")
    environment = {"MY_GREETER_2_WORKERS": "7", "CONTROLLER_WORKERS": "5", "MY_GREETER_2_V": "3"}
    options = parse_options([], environment, operator=operator)
    assert (options.workers, options.verbosity) == (7, 3)
    with pytest.raises(SystemExit):
        parse_options(["--help"], {}, operator=operator)
    text = capsys.readouterr().out
    assert "  MY_GREETER_2_KUBE_API_QPS" in text
    assert "CONTROLLER_" not in text


def test_no_namespace_means_all_of_them() -> None:
    """As with -A; an empty name beside others, or a name twice, adds nothing."""
    assert new_options().namespaces == ()
    assert new_options(namespace="demo").namespaces == ("demo",)
    assert new_options(namespace=",a,,b, a").namespaces == ("a", "b")
