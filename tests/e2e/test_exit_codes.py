from __future__ import annotations

import socket
from pathlib import Path

import pytest

from support.rigs.program import NO_SERVERS, SECONDS, running


def ended(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and log of a run that ends by itself, without a traceback."""
    with running(*arguments, folder=folder) as program:
        code = program.wait(seconds=SECONDS)
    return code, "\n".join(program.log)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--kubeconfg=x",), 2, "error: unknown flag --kubeconfg; did you mean --kubeconfig?"),
        (NO_SERVERS, 3, "more: handloop errors E01"),
    ],
)
def test_the_code_of_a_command_is_that_of_its_process(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """What each problem prints, and its code, is in test_newcomer_errors; here the process ends with it."""
    ended_with, log = ended(tmp_path, *arguments)
    assert ended_with == code
    assert log.startswith("error: ")
    assert words in log


def test_a_sandbox_port_that_is_taken(tmp_path: Path) -> None:
    """The sandbox's port, too, is E10 and 7."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, log = ended(tmp_path, "--sandbox", f"--sandbox-port={taken.getsockname()[1]}")
    assert code == 7
    assert "more: handloop errors E10" in log
