"""
Runs every benchmark with its peers, and writes docs/performance.md, with each benchmark's table, and its
plots.

    make bench ROUNDS=3        or        python benchmarks/all.py --rounds 3 --only queue_cycles.py start.py

Some benchmarks need things that not every machine has (see NEEDS). Without them they are left out, and the
page says so. The Go program of peers/client_go is built if `go` is installed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tables import Table

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
BUILD: Final = ROOT / "build/bench"
PAGE: Final = ROOT / "docs/performance.md"
NEEDS: Final = {
    "BENCH_KUBECONFIG": "the kubeconfig of a kube-apiserver without controllers and nodes",
    "BENCH_PIDS": "the pids of kube-apiserver and etcd, separated by commas, whose CPU time is measured",
    "BENCH_GO_CONTROLLER": "Go's sample-controller, built with the additional flags -workers and -qps",
}
"""Environment variables."""
PEERS: Final = ("kubernetes", "lightkube", "kopf", "urllib3", "msgspec")
LIMIT_SECONDS: Final = 900


class Run(NamedTuple):
    """
    One call of a script.

    Args: needs are variables that must be set. flags give an option the value of a variable that is set; the
    other needs are the first arguments. rounds is the default number, or 0 if the script has no rounds.
    """

    script: str
    arguments: tuple[str, ...] = ()
    rounds: int = 0
    needs: tuple[str, ...] = ()
    flags: Mapping[str, str] = {}


class Done(NamedTuple):
    """The result of a run: its tables, or the reason why it has none."""

    run: Run
    tables: Sequence[Table]
    left_out: str = ""


class Plot(NamedTuple):
    """
    Columns of a table, drawn as bars.

    Args: name is the file's name. table is the beginning of the table's title. unit is the label of the axis.
    """

    name: str
    table: str
    title: str
    columns: tuple[str, ...]
    unit: str


SYNC: Final = "sync_and_events.py"
BURSTS: Final = "First sync, events in bursts"
OWNERS: Final = "Owners into Deployments"
ALONE: Final = ("--pause-us", "500", "--objects", "1000", "--events", "4000")
RUNS: Final = (
    Run(SYNC, rounds=3, flags={"CLIENT_GO": "--client-go"}),
    Run(SYNC, ALONE, rounds=3, flags={"CLIENT_GO": "--client-go"}),
    Run(
        "reconciling.py",
        rounds=2,
        needs=("BENCH_KUBECONFIG",),
        flags={"BENCH_GO_CONTROLLER": "--go"},
    ),
    Run("latency.py", rounds=3, flags={"CLIENT_GO": "--client-go"}),
    Run("queue_cycles.py", rounds=5),
    Run("why.py", rounds=9),
    Run("relists.py", ("--relists", "4")),
    Run(
        "start.py",
        rounds=7,
        needs=("BENCH_KUBECONFIG",),
        flags={"BENCH_GO_CONTROLLER": "--go", "IMAGE_PYTHON": "--python"},
    ),
    Run("live_page.py", rounds=5),
    Run("sandbox_start.py", rounds=5),
    Run(
        "api_requests.py",
        ("--tls",),
        rounds=1,
        flags={"BENCH_KUBECONFIG": "--beside", "BENCH_PIDS": "--beside-pids"},
    ),
    Run(
        "wire.py",
        ("--objects", "1000", "--mbits", "0", "100"),
        rounds=3,
        needs=("BENCH_KUBECONFIG",),
        flags={"BENCH_KUBECONFIG": "--kubeconfig", "BENCH_PIDS": "--pids"},
    ),
    Run(
        "conversions.py",
        needs=("BENCH_KUBECONFIG",),
        flags={"BENCH_KUBECONFIG": "--kubeconfig"},
    ),
)
PLOTS: Final = (
    Plot("sync", BURSTS, "First list: CPU time per object", ("sync us",), "microseconds; shorter is better"),
    Plot(
        "events",
        BURSTS,
        "Watch events in bursts: CPU time per event",
        ("event us",),
        "microseconds; shorter is better",
    ),
    Plot(
        "alone",
        "First sync, one event",
        "Single watch events: CPU time per event",
        ("event us",),
        "microseconds; shorter is better",
    ),
    Plot(
        "reconciling", OWNERS, "Owners reconciled per second", ("owners /s",), "per second; longer is better"
    ),
    Plot(
        "reconciling-cpu",
        OWNERS,
        "CPU time per owner",
        ("CPU ms/owner",),
        "milliseconds; shorter is better",
    ),
    Plot(
        "latency",
        "Latency at",
        "Time from the server's send to the handler, with busy workers",
        ("p50 ms", "p99 ms"),
        "milliseconds; shorter is better",
    ),
    Plot("memory", BURSTS, "Memory per cached Deployment of 4 kB", ("bytes",), "bytes; shorter is better"),
)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--rounds", type=int, help=("rounds of each script that has rounds; fewer rounds take less time")
    )
    parser.add_argument("--only", nargs="*", choices=sorted({run.script for run in RUNS}))
    parser.add_argument(
        "--page", type=Path, help="folder for the page and the plots; the default with --only is build/bench"
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help=("tiny sizes, only to test that the script works; the figures mean nothing"),
    )
    options = parser.parse_args()
    began_at = time.monotonic()
    machine = dict(facts())
    settings = {name: value for name in NEEDS if (value := os.environ.get(name))}
    if not options.smoke:
        settings |= built()
    runs = [run for run in RUNS if not options.only or run.script in options.only]
    done = [perform(run, settings, options) for run in runs]
    machine["it took"] = f"{(time.monotonic() - began_at) / 60:.0f} minutes"
    path = options.page or (BUILD / PAGE.name if options.only else PAGE)
    folder = path.with_suffix("")
    plots = (
        [plot for plot in PLOTS if drawn(plot, done, folder)]
        if importlib.util.find_spec("matplotlib")
        else []
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(machine, done, plots, folder.name), encoding="utf-8")
    print(f"wrote {path}, {len(plots)} plots")
    sys.exit(any(each.left_out.startswith("failed") for each in done))


def built() -> dict[str, str]:
    """Build the Go program of peers/client_go, and a Python with the image's libraries, if possible."""
    image, program, go = BUILD / "image", BUILD / "client_go", shutil.which("go")
    python = str(image / "bin/python")
    venv = [sys.executable, "-m", "venv", str(image)]
    install = [str(ROOT / "tools/install.sh"), python, str(ROOT / "requirements/program.lock")]
    found = {"IMAGE_PYTHON": python} if succeeds(venv) and succeeds(install) else {}
    if go is not None and succeeds([go, "build", "-o", str(program), "."], HERE / "peers/client_go"):
        found["CLIENT_GO"] = str(program)
    return found


def succeeds(command: list[str], folder: Path = ROOT) -> bool:
    """Run a command there."""
    return subprocess.run(command, cwd=folder, check=False).returncode == 0


def perform(run: Run, settings: Mapping[str, str], options: argparse.Namespace) -> Done:
    """Run a script, unless something is missing."""
    missing = [name for name in run.needs if name not in settings]
    if missing:
        return Done(run, (), f"left out: {' and '.join(missing)} not set")
    BUILD.mkdir(parents=True, exist_ok=True)
    written = BUILD / f"{Path(run.script).stem}.json"
    written.unlink(missing_ok=True)
    sized = [] if options.smoke else run.arguments
    arguments = [settings[name] for name in run.needs if name not in run.flags] + [*sized]
    for name, flag in run.flags.items():
        arguments += [flag, settings[name]] if name in settings else []
    if run.rounds and not options.smoke:
        arguments += ["--rounds", str(options.rounds or run.rounds)]
    arguments += ["--json", str(written), *(["--smoke"] if options.smoke else [])]
    print(f"\n== {run.script}", flush=True)
    try:
        subprocess.run([sys.executable, HERE / run.script, *arguments], check=True, timeout=LIMIT_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return Done(run, (), f"failed: {type(error).__name__}, as the terminal says")
    return Done(run, [Table(**each) for each in json.loads(written.read_text(encoding="utf-8"))])


def facts() -> Iterator[tuple[str, str]]:
    """The machine and the versions."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    yield "processor", models[0] if models else platform.machine()
    yield "cores", str(os.cpu_count())
    yield "kernel", f"{platform.system()} {platform.release()}"
    yield "load before", f"{os.getloadavg()[0]:.1f}"
    yield "date", dt.datetime.now(tz=dt.UTC).date().isoformat()
    yield "Python", sys.version.partition("(")[0].strip()
    if go := shutil.which("go"):
        asked = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True)
        yield "Go", asked.stdout.strip()
    for peer in PEERS:
        if importlib.util.find_spec(peer):
            yield peer, importlib.metadata.version(peer)


def page(machine: Mapping[str, str], done: Sequence[Done], plots: Sequence[Plot], folder: str) -> str:
    """The text of docs/performance.md."""
    lines = [
        "# Performance",
        "",
        "<!-- made by `make bench`; do not edit -->",
        "",
        "One run of `make bench` measured handloop and its peers in turn. Compare ratios, not times.",
        "[Benchmarks](../benchmarks/README.md) explains each script.",
        "",
        *markdown([["the machine", ""], *([name, value] for name, value in machine.items())]),
        "",
    ]
    for plot in plots:
        lines += [f"![{plot.title}]({folder}/{plot.name}.png)", ""]
    for each in done:
        for table in each.tables:
            lines += [
                f"## {table.title}",
                "",
                f"`{each.run.script}`: {table.setting}",
                "",
                *markdown(table.cells()),
                "",
            ]
    left_out = [each for each in done if each.left_out]
    if left_out:
        lines += [
            "## Not measured",
            "",
            *(f"* `{each.run.script}`: {each.left_out}" for each in left_out),
            "",
        ]
    return "\n".join(lines)


def markdown(cells: Sequence[Sequence[str]]) -> list[str]:
    """A table, its figures to the right."""
    head, *rows = ([cell.replace("|", "\\|") for cell in line] for line in cells)
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(line)} |" for line in (head, rule, *rows)]


def drawn(plot: Plot, done: Sequence[Done], folder: Path) -> bool:
    """Draw a plot. Returns: whether the plot's table was measured."""
    tables = [one for each in done for one in each.tables if one.title.startswith(plot.table)]
    if not tables:
        return False
    rows = {name: row for name, row in tables[0].rows.items() if row.get(plot.columns[0])}
    import matplotlib.pyplot as plt  # noqa: PLC0415 - only where it is installed

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(8, 1 + 0.4 * len(rows) * len(plot.columns)), layout="constrained")
    for number, (name, row) in enumerate(rows.items()):
        for place, column in enumerate(plot.columns):
            value: Any = row[column]
            at = -number - place / (len(plot.columns) + 1)
            colour = "tab:orange" if "handloop" in name else "tab:gray"
            bar = axes.barh(at, value, 0.8 / len(plot.columns), color=colour, alpha=1 - place / 3)
            axes.bar_label(bar, [f"{value:,.4g} {column if place else ''}"], padding=3)
    axes.set_yticks([-number for number in range(len(rows))], list(rows))
    axes.set_title(plot.title)
    axes.set_xlabel(plot.unit)
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / f"{plot.name}.png", dpi=100)
    plt.close(figure)
    return True


if __name__ == "__main__":
    main()
