"""YAML that kubectl reads as it was meant: held against PyYAML, and against go-yaml where Go is."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.grammar.yaml_text import from_yaml, is_plain, scalar, to_yaml

Read = Callable[[str], Any]

READ_OTHERWISE: Final = """
y n Y N yes No ON off On true False TRUE null Null NULL ~ nil << = .inf -.Inf +.INF .nan .NaN
1e3 1E3 12e03 1e-3 -1e3 .5e3 1.5e3 0o17 0O17 +0o7 0B1 0X1F 08 0o1_7 1_000 0b1_0 -0x1f +1 .5 -.5 5. 1e+3 1.e3
00 -0 -0b1 12:30 1:30:45 190:20:30.15 2001-12-14 2001-12-14T21:59:43Z 2001-12-14t21:59:43.10-05:00 1__0
"""
OTHERS: Final = r"""
0x1p-2 _1 - + . .. --- ... 0b 0x 0o a: #a : [a {a !a &a *a | > %a @a `a 'a' "a" a'b
a\b 50m 10m 1Gi v1 nginx:1.27
7c9e6679-7425-40de-944b-e07fc1f90ae7 1.27.3 10.0.0.1
"""
TEXTS: Final = [
    *READ_OTHERWISE.split(),
    *OTHERS.split(),
    *(
        "",
        " ",
        " a",
        "a ",
        "a: b",
        "a #b",
        "- a",
        "? a",
        "a, b",
        "a\tb",
        "\ta",
        "a\nb",
        "a\n",
        "\na",
        " a\nb",
    ),
    *("a\n  b\n", "\n", "a\r\nb", "a\x00b", "a\x7fb", "\x85", "\u2028", "\ufeff", "\xfc", "\U0001f600"),
    *("a" * 300, "x " * 200, "2001-12-14 21:59:43"),
]
GO_PROGRAM: Final = Path(__file__).parents[2] / "support" / "go_yaml"


@pytest.fixture(scope="session")
def go_reads(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The reader of kubectl, built of modules that are on this machine."""
    if shutil.which("go") is None:
        pytest.skip("there is no Go to build kubectl's reader with")
    program = tmp_path_factory.mktemp("go") / "go_yaml"
    environment = {"GOPROXY": "off", "GOSUMDB": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    made = subprocess.run(
        [
            "env",
            *(f"{name}={value}" for name, value in environment.items()),
            "go",
            "build",
            "-o",
            str(program),
            ".",
        ],
        cwd=shutil.copytree(GO_PROGRAM, program.parent / "source"),
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"kubectl's reader cannot be built here: {made.stderr.strip().splitlines()[-1]}")

    def read(text: str) -> Any:
        answer = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
        return json.loads(answer.stdout)

    return read


def document(texts: list[str]) -> dict[str, Any]:
    """The texts as fields, as values, in a list of words, and in a list with other things."""
    return {
        "keys": {text: number for number, text in enumerate(texts)},
        "values": {f"v{number}": text for number, text in enumerate(texts)},
        "words": texts,
        "mixed": [1, True, None, 0.5, *texts, {"name": texts}],
    }


def test_go_reads_each_text_as_it_was_meant(go_reads: Read) -> None:
    """As a field, a value, and an entry of a list: kubectl must see what Python printed."""
    assert go_reads(to_yaml(document(TEXTS))) == document(TEXTS)


def test_python_reads_each_text_as_it_was_meant() -> None:
    """So do the readers of YAML 1.1 that are in Python."""
    assert yaml.safe_load(to_yaml(document(TEXTS))) == document(TEXTS)


@pytest.mark.parametrize("text", READ_OTHERWISE.split())
def test_what_a_reader_takes_for_something_else_is_quoted(text: str) -> None:
    """Also in a template of the scaffold."""
    assert not is_plain(text) or scalar(text) != text
    assert yaml.safe_load(f"name: {scalar(text)}") == {"name": text}


@pytest.mark.parametrize(
    "text", ["handloop", "50m", "1Gi", "v1", "nginx:1.27", "a b", "example.com/x", "yes-sir"]
)
def test_other_texts_have_no_quotes(text: str) -> None:
    """Manifests stay as people write them."""
    assert scalar(text) == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=6, unique=True))
def test_any_text_comes_back(texts: list[str]) -> None:
    """Whatever somebody writes into a type, a default or an enum."""
    assert yaml.safe_load(to_yaml(document(texts))) == document(texts)


def test_equal_parts_are_repeated() -> None:
    """A reference is no part of what people expect in a manifest."""
    part = {"a": 1}
    assert to_yaml([part, part]) == "- a: 1\n- a: 1\n"


def test_manifests_are_read_as_kubectl_reads_them() -> None:
    """Times, `=` and a value `<<` are texts; every document is there, and parts can be merged."""
    text = "a: =\nb: <<\nc: 2020-01-01\nd: 12:30\n---\n---\nx: &x {y: 1}\nz: {<<: *x}\n"
    assert from_yaml(text) == [
        {"a": "=", "b": "<<", "c": "2020-01-01", "d": "12:30"},
        None,
        {"x": {"y": 1}, "z": {"y": 1}},
    ]
