"""
What we override or read of the standard library's inside, each with the test that runs it.

A new Python may change any of it: tools/every_python.sh runs these tests with each that is at hand.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from handloop.controller.cli.extensions import NEIGHBOURS

ROOT = Path(__file__).parents[1]
PRODUCT = ("apis", "client", "controller", "handloop", "informers", "workqueue", *NEIGHBOURS)
# bases that are made to be inherited from, and say how
MADE_FOR_IT = ("typing", "abc", "enum", "dataclasses", "collections.abc", "builtins")

INSIDES = {
    ("apis/crd_schema.py", "enum.Enum._missing_"): (
        "tests/apis/test_crd_schema.py::test_types_that_no_schema_can_express_are_refused"
    ),
    (
        "client/http/sockets.py",
        "socket.socket",
    ): "tests/client/http/test_sockets.py::test_a_deadline_ends_a_drip",
    ("client/http/sockets.py", "ssl.SSLSocket"): (
        "tests/client/http/test_sockets.py::test_tls_has_the_same_deadline"
    ),
    ("controller/cli/flags.py", "argparse.ArgumentParser"): (
        "tests/controller/cli/test_flags.py::test_a_mistake_is_named"
    ),
    ("controller/cli/logs.py", "logging.Handler"): (
        "tests/controller/cli/test_logs.py::test_a_log_of_the_library_is_written_by_our_handler"
    ),
    ("controller/cli/project.py", "string.Template"): (
        "tests/controller/cli/test_project.py::test_it_has_the_manifests_of_the_repository"
    ),
    ("controller/cli/replicas.py", "os._exit"): (
        "tests/e2e/test_leader_election.py::test_a_leader_that_cannot_renew_ends_before_another_begins"
    ),
    ("controller/runtime/reconciling/context.py", "sys._getframe"): (
        "tests/controller/runtime/children/test_children.py"
        "::test_an_apply_without_an_owner_of_a_kind_with_owners_is_reported_once"
    ),
    ("controller/runtime/reconciling/reporting.py", "sys._current_frames"): (
        "tests/controller/runtime/reconciling/test_watchman.py::test_a_reconcile_that_blocks_is_reported_while_it_blocks"
    ),
    ("controller/runtime/serving/page_server.py", "http.server.BaseHTTPRequestHandler"): (
        "tests/controller/runtime/serving/test_page_server.py::test_head_has_no_body"
    ),
    ("controller/runtime/serving/page_server.py", "http.server.ThreadingHTTPServer"): (
        "tests/controller/runtime/serving/test_page_server.py::test_silent_clients_keep_no_others_out"
    ),
    ("controller/runtime/life/signals.py", "os._exit"): (
        "tests/controller/runtime/life/test_signals.py::test_the_second_signal_ends_the_process_at_once"
    ),
    **dict.fromkeys(
        (
            ("explore/handloop_explore/virtual_threads.py", name)
            for name in ("asyncio._get_running_loop", "asyncio._set_running_loop")
        ),
        "explore/tests/exploration/test_virtual_threads.py::test_a_loop_of_the_real_thread_goes_on_afterwards",
    ),
    ("explore/handloop_explore/virtual_threads.py", "_thread"): (
        "explore/tests/exploration/test_virtual_threads.py::test_another_real_thread_gets_real_locks"
    ),
    ("explore/handloop_explore/forks.py", "os._exit"): (
        "explore/tests/exploration/test_forks.py::test_each_plan_has_its_process_which_is_gone_afterwards"
    ),
    ("explore/handloop_explore/program.py", "argparse.ArgumentParser"): (
        "explore/tests/exploration/test_program.py::test_a_line_without_sense_is_an_error"
    ),
    ("explore/handloop_explore/virtual_names.py", "queue._PySimpleQueue"): (
        "explore/tests/exploration/test_virtual_names.py::test_a_wait_takes_virtual_time"
    ),
    ("explore/handloop_explore/virtual_names.py", "random._urandom"): (
        "explore/tests/exploration/test_virtual_names.py::test_chance_follows_from_the_seed"
    ),
    ("explore/handloop_explore/virtual_names.py", "threading._time"): (
        "explore/tests/exploration/test_virtual_names.py::test_a_wait_takes_virtual_time"
    ),
    ("explore/handloop_explore/virtual_names.py", "uuid._generate_time_safe"): (
        "explore/tests/exploration/test_virtual_names.py::test_chance_follows_from_the_seed"
    ),
    ("explore/handloop_explore/virtual_names.py", "uuid._last_timestamp"): (
        "explore/tests/exploration/test_virtual_names.py::test_chance_follows_from_the_seed"
    ),
    ("handloop/testing/running_operator.py", "logging.Handler"): (
        "tests/testing/test_running_operator.py::test_an_error_line_is_found_unless_it_is_expected"
    ),
    ("learn/handloop_learn/ch03_delta_fifo.py", "collections.deque"): (
        "learn/tests/walkthrough/test_ch03_delta_fifo.py::test_a_key_stands_in_line_once"
    ),
    ("learn/handloop_learn/judge.py", "os._exit"): (
        "learn/tests/walkthrough/test_exercise_check.py::test_a_thread_that_never_ends_does_not_keep_the_answer_back"
    ),
    (
        "handloop/picture/parts.py",
        "sys._current_frames",
    ): "tests/picture/test_parts.py::test_both_controllers_have_their_parts",
    (
        "learn/handloop_learn/live/stacks.py",
        "sys._current_frames",
    ): "learn/tests/walkthrough/live/test_stacks.py::test_each_thread_is_shown_with_what_it_waits_for",
    ("learn/handloop_learn/program.py", "argparse.ArgumentParser"): (
        "learn/tests/walkthrough/test_program.py::test_a_command_line_that_makes_no_sense"
    ),
    ("sandbox/handloop_sandbox/program.py", "ssl._create_unverified_context"): (
        "sandbox/tests/unit/test_program.py::test_the_kubeconfig_of_another_server_stays"
    ),
}


def test_every_inside_of_the_standard_library_has_a_test() -> None:
    """The table has what the product's text has, and its tests exist."""
    found = {(str(path.relative_to(ROOT)), what) for path in _product() for what in _insides(path)}
    assert found == set(INSIDES)
    for node in INSIDES.values():
        path, _, name = node.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), node


def _product() -> Iterator[Path]:
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {"tests", "templates", "tools"} & set(path.relative_to(ROOT).parts):
                yield path


def _insides(path: Path) -> Iterator[str]:
    """Names with an underscore, and the classes that ours extend."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = (_full_name(base, names) for base in node.bases)
            yield from (base for base in bases if base and not base.startswith(MADE_FOR_IT))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            name = _full_name(node, names)
            if name:
                yield name
        # (uuid, "_last_timestamp"), as what is replaced is named
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[1], ast.Constant):
            module, name = _full_name(node.elts[0], names), str(node.elts[1].value)
            if module and name.startswith("_"):
                yield f"{module}.{name}"
    yield from (name for name in names.values() if name.rpartition(".")[2].startswith("_"))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if _is_standard(each.name):
                    top = each.name.partition(".")[0]
                    yield (each.asname, each.name) if each.asname else (top, top)
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_standard(node.module or ""):
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)


def _is_standard(module: str) -> bool:
    return module != "__future__" and module.partition(".")[0] in sys.stdlib_module_names


def _full_name(node: ast.expr, names: dict[str, str]) -> str:
    """The name with its module of an expression, "" where it is not of the standard library."""
    if isinstance(node, ast.Subscript):
        return _full_name(node.value, names)
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (module := _full_name(node.value, names)):
        return f"{module}.{node.attr}"
    return ""
