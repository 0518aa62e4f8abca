"""
`chart`: writes a Helm chart of an operator and a second chart of its CRDs, built from the types, the declared
access and the files in `manifests`. Equal input always gives equal files.

Each choice that the kustomize overlays offer becomes a value of the chart. A file in a subfolder of
`manifests` becomes a template of the same name.

Follows: charts of apiVersion v2. Helm installs the files in a chart's crds/ folder but never upgrades them,
so the CRDs are templates of a separate chart.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from handloop.apis.grammar.yaml_text import from_yaml, to_yaml
from handloop.controller.cli.chart_templates import (
    FOLDERS,
    ChartSource,
    definition_templates,
    operator_templates,
)
from handloop.controller.cli.chart_values import (
    Value,
    definitions_values,
    values_file,
    values_of,
    values_schema,
)
from handloop.controller.cli.declarations import declared_kinds
from handloop.controller.cli.flags import COMMANDS, UsageError
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import Options, spelling
from handloop.controller.cli.problems import OLDEST
from handloop.controller.cli.project_files import (
    SOMEWHERE,
    container_options,
    exit_code_of,
    project_table,
    read_deployment,
    read_documents,
    write_made,
)
from handloop.controller.cli.terminal import show

_HEADER: Final = "# made by `{name} chart`; do not edit\n"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", re.ASCII)
_PLAIN: Final = (".json", ".tpl", ".txt", "values.yaml")


def run_chart(operator: Operator, arguments: Sequence[str]) -> int:
    """
    Write an operator's charts from the files in the working directory.

    Returns: the exit code. Raises: SystemExit if argparse has printed help or rejected the arguments;
    SetUpError if the author's set_up fails.
    """
    given = _parser(operator).parse_args(arguments)
    name, folder = operator.name, Path(given.output)

    def write() -> None:
        files = _files(_read(operator, given))
        write_made(folder, files, _outdated(folder, name, files))
        place = f"--namespace {name}-system --create-namespace --wait"
        for chart in (f"{name}-crds", name):
            command = f"helm upgrade --install {chart} {shlex.quote(str(folder / chart))} {place}"
            show(f"{'next:' if chart != name else ''}\n  {command}".lstrip("\n") + "\n", sys.stdout)

    return exit_code_of(write, f"{operator.command} chart --help")


def _parser(operator: Operator) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{operator.command} chart", description=COMMANDS["chart"], allow_abbrev=False
    )
    add = parser.add_argument
    add("--image", metavar="IMG", help="the operator's image; by default the Deployment's", default="")
    add("--version", metavar="V", help="the charts' version; by default the program's", default="")
    add("--manifests", metavar="DIR", help="the folder to read; by default manifests", default="manifests")
    add(
        "--output",
        metavar="DIR",
        help="the folder to write to; by default manifests/charts",
        default="manifests/charts",
    )
    return parser


def _read(operator: Operator, given: argparse.Namespace) -> ChartSource:
    """Raises: UsageError if a setting is invalid; OSError or a parser's error if a file cannot be read."""
    folder = Path(given.manifests)
    project = project_table(operator, "chart")
    deployment = read_deployment(folder / "manager/deployment.yaml")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    options = container_options(operator, container)
    _refuse_lease(options)
    version = given.version or operator.version().partition("+")[0] or project.version
    if not _VERSION.fullmatch(version):
        problem = f'"{version}" is not a semantic version' if version else "no version is known"
        raise UsageError(problem, fix="--version 1.2.3")
    dashboard = folder / "prometheus/dashboard.json"
    paths = [path for name in FOLDERS for path in _resources(folder / name)]
    objects = {str(path.relative_to(folder)): read_documents(path) for path in paths}
    for place, documents in objects.items():
        _refuse_nameless(place, documents)
    patches = {place: folder / place for place in ("webhook", "metrics-cert")}
    return ChartSource(
        options=options,
        deployment=deployment,
        project=project,
        image=given.image or str(container.get("image") or operator.name),
        version=version,
        objects=objects,
        patches={place: _patch(path / "deployment_patch.yaml") for place, path in patches.items()},
        dashboard=dashboard.read_text(encoding="utf-8") if dashboard.exists() else "",
    )


def _refuse_lease(options: Options) -> None:
    """Raises: UsageError if the Deployment sets a name or namespace for the lease. The release sets both."""
    for name, usual in (
        ("leader_elect_resource_name", options.operator.name),
        ("leader_elect_resource_namespace", SOMEWHERE),
    ):
        if getattr(options, name) not in ("", usual):
            raise UsageError(
                f"the Deployment sets {spelling(name)}, but a chart's lease is named after the release",
                fix=f"remove {spelling(name)} from its args and its environment",
            )


def _resources(folder: Path) -> list[Path]:
    """
    Return the files that a folder's kustomization lists as resources, but not the patches beside them.

    If the folder has no kustomization, return all of its files.
    """
    kustomization = folder / "kustomization.yaml"
    listed = read_documents(kustomization)[:1] if kustomization.exists() else []
    named = [str(name) for one in listed for name in one.get("resources") or ()]
    return sorted(path for path in folder.glob("*.yaml") if not listed or path.name in named)


def _refuse_nameless(place: str, documents: Sequence[Mapping[str, Any]]) -> None:
    """Raises: UsageError if one of the documents is not an object with a name."""
    for one in documents:
        if not one.get("kind") or not (one.get("metadata") or {}).get("name"):
            what = f"{place} has a {one.get('kind') or 'document'} without a name"
            raise UsageError(what, fix="give it metadata.name; write a List's items as separate documents")


def _patch(path: Path) -> list[dict[str, Any]]:
    """Return a JSON patch's "add" operations, or [] if the file does not exist."""
    found = from_yaml(path.read_text(encoding="utf-8"))[0] if path.exists() else []
    return [one for one in found if isinstance(one, dict) and one.get("op") == "add"]


def _files(source: ChartSource) -> dict[str, str]:
    """Return the files of both charts, by path."""
    header, name = _HEADER.format(name=source.name), source.name
    definitions = f"{name}-crds"
    templates = [(f"{name}/templates/{file}", text) for file, text in operator_templates(source)]
    paths = [path for path, _ in templates]
    if twice := [path for path in dict.fromkeys(paths) if paths.count(path) > 1]:
        file = twice[0].rpartition("/")[2]
        raise UsageError(f"two manifest files would become the template {file}", fix="rename one of them")
    files = {
        f"{name}/Chart.yaml": _head(source, name, source.project.description or f"The operator {name}"),
        f"{name}/templates/_names.tpl": _names(name),
        f"{name}/templates/NOTES.txt": _notes(source),
        **dict(templates),
        **_values_files(name, _values(source), header),
        f"{definitions}/Chart.yaml": _head(source, definitions, f"The CRDs of {name}"),
        **{f"{definitions}/templates/{file}": text for file, text in definition_templates(source)},
        **_values_files(definitions, definitions_values(name), header),
    }
    return {path: text if path.endswith(_PLAIN) else header + text for path, text in files.items()}


def _values_files(chart: str, values: Mapping[str, Value], header: str) -> dict[str, str]:
    return {
        f"{chart}/values.yaml": values_file(values, header),
        f"{chart}/values.schema.json": values_schema(values),
    }


def _values(source: ChartSource) -> dict[str, Value]:
    """Return the chart's values, including only the choices that apply to this operator."""
    options = source.options
    choices = {
        "podDisruptionBudget": any(
            one.get("kind") == "PodDisruptionBudget" for each in source.objects.values() for one in each
        ),
        "networkPolicy": any(place.startswith("network-policy/") for place in source.objects),
        "monitoring": any(place.startswith("prometheus/") for place in source.objects),
        "userRoles": bool(declared_kinds(options)),
        "metrics": options.metrics_auth,
        "webhook": source.converts,
    }
    defaults = {
        "replicas": source.deployment["spec"].get("replicas", 1),
        "leaderElection": options.leader_elect,
        "shards": options.shards,
        "namespaces": list(options.namespaces),
        **_image(source.image),
    }
    return values_of(source.pod, defaults, [name for name, has in choices.items() if has])


def _image(image: str) -> dict[str, str]:
    """Split an image reference into its parts. A port is part of the registry. A tag `latest` is dropped."""
    name, _, digest = image.partition("@")
    head, colon, tag = name.rpartition(":")
    has_tag = colon and "/" not in tag
    shown = tag if has_tag and tag != "latest" else ""
    return {"repository": head if has_tag else name, "tag": shown, "digest": digest}


def _head(source: ChartSource, name: str, description: str) -> str:
    """`Chart.yaml`."""
    project = source.project
    people = project.maintainers or project.authors
    head = {
        "apiVersion": "v2",
        "name": name,
        "description": description,
        "type": "application",
        "version": source.version,
        "appVersion": source.version,
        # The suffix -0 also allows a server that calls itself v1.36.3-gke.100.
        "kubeVersion": ">= {}.{}.0-0".format(*OLDEST),
        "keywords": list(project.keywords),
        "home": project.urls.get("Homepage", ""),
        "maintainers": [person for person in people if "name" in person],
    }
    return to_yaml({key: value for key, value in head.items() if value}, in_ascii=False)


def _names(name: str) -> str:
    """
    Return the chart's named templates, with which the other templates insert names and labels.

    A name is cut to 42 characters, so that `-leader-election` can be appended.
    """
    return f"""\
{{{{- define "{name}.fullname" -}}}}
{{{{- $below := printf "%s-%s" .Release.Name .Chart.Name }}}}
{{{{- $own := ternary .Release.Name $below .Chart.IsRoot }}}}
{{{{- $name := .Values.fullnameOverride | default $own | trunc 42 | trimSuffix "-" }}}}
{{{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}}}
{{{{- fail (printf "%s is not a valid name for a Service: set fullnameOverride" $name) }}}}
{{{{- end }}}}
{{{{- $name }}}}
{{{{- end }}}}
{{{{- define "{name}.labels" -}}}}
helm.sh/chart: {{{{ printf "%s-%s" .Chart.Name .Chart.Version | trunc 63 | trimSuffix "-" | quote }}}}
app.kubernetes.io/instance: {{{{ .Release.Name | quote }}}}
app.kubernetes.io/managed-by: {{{{ .Release.Service | quote }}}}
{{{{- end }}}}
"""


def _notes(source: ChartSource) -> str:
    """Return the text that helm prints after an installation."""
    kinds = ", ".join(kind.resource.kind for kind in declared_kinds(source.options))
    name, command = source.name, source.options.operator.command
    return f"""\
{name} works on {kinds or "its objects"}. The chart {name}-crds has the CRDs: upgrade it before this one.

  kubectl -n {{{{ .Release.Namespace }}}} rollout status deployment/{{{{ include "{name}.fullname" . }}}}
  {command} doctor                 # what is missing
  {command} why NAMESPACE/NAME     # why an object does not move
"""


def _outdated(folder: Path, name: str, files: Iterable[str]) -> list[Path]:
    """Return templates from earlier runs that are not among files. Helm would still install them."""
    current, header = {folder / path for path in files}, _HEADER.format(name=name)
    charts = (name, f"{name}-crds")
    return [
        path
        for chart in charts
        for path in sorted((folder / chart / "templates").glob("*.yaml"))
        if path not in current and path.read_text(encoding="utf-8").startswith(header)
    ]
