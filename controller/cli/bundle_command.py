"""
`bundle`: writes a bundle for the Operator Lifecycle Manager, built from the types, the declared access, the
Deployment, the objects that are installed with it, and the samples. Equal input always gives equal files.

Follows: operator-registry docs/design/operator-bundle.md (registry+v1).
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from handloop.apis.grammar.yaml_text import to_yaml
from handloop.controller.cli.cluster_service_version import (
    OLM_CERTIFICATES,
    Release,
    cluster_service_version,
    namespaces_variable,
    olm_service,
)
from handloop.controller.cli.declarations import declared_kinds
from handloop.controller.cli.flags import COMMANDS, UsageError
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import Options, spelling
from handloop.controller.cli.project_files import (
    SOMEWHERE,
    container_options,
    exit_code_of,
    fitting,
    project_table,
    read_deployment,
    read_documents,
    write_made,
)
from handloop.controller.cli.terminal import show
from handloop.controller.cli.webhook import any_is_converted, definition_of, webhook_service

_HEADER: Final = "# made by `{name} bundle`; do not edit\n"
_LABELS: Final = "operators.operatorframework.io.bundle."
_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9a-z-]+(\.[0-9a-z-]+)*)?", re.ASCII
)
_BESIDE: Final = ("PodDisruptionBudget", "PrometheusRule", "Service", "ServiceMonitor")
_OPTIONAL: Final = "monitoring.coreos.com"
"""The API group of the Prometheus operator. OLM also installs the bundle in clusters without this group."""
_CHANNEL: Final = re.compile("[A-Za-z0-9][-._A-Za-z0-9]*", re.ASCII)
_MAX_NAME: Final = 63


def run_bundle(operator: Operator, arguments: Sequence[str]) -> int:
    """
    Write an operator's bundle from the files in the working directory.

    Returns: the exit code. Raises: SystemExit if argparse has printed help or rejected the arguments;
    SetUpError if the author's set_up fails.
    """
    given = _parser(operator).parse_args(arguments)
    folder = Path(given.output)

    def write() -> None:
        files = _files(_release(operator, given), given)
        _refuse_links(folder, files)
        write_made(folder, files, _outdated(folder, operator.name, files))
        build = ["docker", "build", "-f", str(folder / "bundle.Dockerfile"), "-t", "BUNDLE_IMG", str(folder)]
        show(f"next:\n  {shlex.join(build)}\n", sys.stdout)

    return exit_code_of(write, f"{operator.command} bundle --help")


def _parser(operator: Operator) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{operator.command} bundle", description=COMMANDS["bundle"], allow_abbrev=False
    )

    def add(name: str, metavar: str, text: str, default: str = "") -> None:
        told = f"{text}; by default {default}" if default else text
        parser.add_argument(f"--{name}", metavar=metavar, help=told, default=default)

    parser.add_argument("--image", metavar="IMG", help="the operator's image", required=True)
    add("version", "V", "the operator's version; by default the program's, or the one in pyproject.toml")
    add("replaces", "V", "the version that this one replaces in the channel")
    add("channel", "NAME", "by default candidate for 0.x versions and pre-releases, otherwise stable")
    add("output", "DIR", "the folder to write to", "manifests/bundle")
    add("deployment", "FILE", "the file with the operator's Deployment", "manifests/manager/deployment.yaml")
    add(
        "objects",
        "DIR",
        "the folder whose subfolders contain the disruption budget, Service and monitoring",
        "manifests",
    )
    add("samples", "DIR", "the folder with a sample of each kind", "manifests/samples")
    add("base", "FILE", "a file with ClusterServiceVersion fields that extend or replace the generated ones")
    return parser


def _release(operator: Operator, given: argparse.Namespace) -> Release:
    """Raises: UsageError if a setting is invalid; OSError or a parser's error if a file cannot be read."""
    project = project_table(operator, "bundle --image IMG")
    deployment = read_deployment(Path(given.deployment))
    options = _with_webhook_of_olm(
        _options(operator, deployment["spec"]["template"]["spec"]["containers"][0]),
        deployment["metadata"]["name"],
    )
    # OLM refuses the "+..." suffix that a version has when it is built from a checkout.
    version = given.version or operator.version().partition("+")[0] or project.version
    kinds = {(kind.resource.api_version, kind.resource.kind): kind for kind in declared_kinds(options)}
    return Release(
        options=options,
        deployment=deployment,
        image=given.image,
        version=_checked(operator.name, "--version", version),
        replaces=_replaced(operator.name, given.replaces, version),
        project=project,
        samples=[
            document
            for path in sorted(Path(given.samples).glob("*.yaml"))
            for document in read_documents(path)
            if (kind := kinds.get((str(document.get("apiVersion")), str(document.get("kind")))))
            and fitting(path, document, kind)
        ],
    )


def _options(operator: Operator, container: Mapping[str, Any]) -> Options:
    """
    Return the options that the Deployment's container sets.

    Raises: UsageError if one of them is an option whose value OLM chooses.
    """
    options = container_options(operator, container)
    if options.namespace:
        raise UsageError(
            "the Deployment names the namespaces to watch, but OLM chooses them",
            fix=f"remove --namespace from its args; the bundle sets ${namespaces_variable(operator)}",
        )
    if options.leader_elect_resource_namespace not in ("", SOMEWHERE):
        raise UsageError(
            f'the Deployment puts the lease into "{options.leader_elect_resource_namespace}", '
            "but OLM chooses where the operator runs",
            fix="remove --leader-elect-resource-namespace: in a pod the default is its own namespace",
        )
    return options


def _with_webhook_of_olm(options: Options, deployment: str) -> Options:
    """
    Return the options. If the program converts objects, add OLM's Service and certificate to them.

    Raises: UsageError if the Deployment sets the Service or certificate itself, or if the Service's name is
    too long.
    """
    if not any_is_converted(declared_kinds(options)):
        return options
    for name in ("webhook_cert_dir", "webhook_service", "webhook_url"):
        if getattr(options, name):
            raise UsageError(
                f"the Deployment sets {spelling(name)}, but OLM creates the webhook Service and certificate",
                fix=f"remove {spelling(name)} from its args and its environment",
            )
    service = olm_service(deployment)
    if len(service) > _MAX_NAME:
        raise UsageError(
            f"OLM would name the webhook's Service {service}, which is longer than {_MAX_NAME} characters",
            fix="give the Deployment a shorter name",
        )
    return replace(options, webhook_cert_dir=OLM_CERTIFICATES, webhook_service=service)


def _checked(name: str, flag: str, version: str) -> str:
    """Return the version. Raises: UsageError if OLM would refuse it, or if NAME.vVERSION is too long."""
    if not _VERSION.fullmatch(version):
        problem = f'"{version}" is not a semantic version' if version else "no version is known"
        raise UsageError(problem, fix=f"{flag} 1.2.3, or 1.2.3-rc.1")
    if len(f"{name}.v{version}") > _MAX_NAME:
        raise UsageError(f"{name}.v{version} is longer than {_MAX_NAME} characters")
    return version


def _replaced(name: str, replaces: str, version: str) -> str:
    """Return the version that `--replaces 0.1.0` or `--replaces NAME.v0.1.0` names; "" stays ""."""
    replaces = replaces.removeprefix(f"{name}.v")
    if replaces and _checked(name, "--replaces", replaces) == version:
        raise UsageError(f"version {version} cannot replace itself", fix="--replaces with an earlier version")
    return replaces


def _files(release: Release, given: argparse.Namespace) -> dict[str, str]:
    """
    Return the bundle's files by path.

    Raises: UsageError if an argument or a file is invalid; OSError if a file cannot be read; YAMLError if a
    file is not YAML.
    """
    manifest = cluster_service_version(release)
    if given.base:
        for document in read_documents(Path(given.base)):
            manifest = _merged(manifest, document)
    channel = given.channel or ("candidate" if release.maturity == "alpha" else "stable")
    if not _CHANNEL.fullmatch(channel):
        raise UsageError(f'"{channel}" is not a valid channel name', fix="--channel stable")
    annotations = {
        "mediatype.v1": "registry+v1",
        "manifests.v1": "manifests/",
        "metadata.v1": "metadata/",
        "package.v1": release.name,
        "channels.v1": channel,
        "channel.default.v1": channel,
    }
    labels = {_LABELS + name: value for name, value in annotations.items()}
    beside, options = list(_beside(release, Path(given.objects))), release.options
    documents = {
        f"manifests/{release.name}.clusterserviceversion.yaml": manifest,
        **{
            f"manifests/{kind.resource.group}_{kind.resource.plural}.yaml": definition_of(kind, options)
            for kind in declared_kinds(options)
        },
        **{f"manifests/{one['metadata']['name']}_{one['kind'].lower()}.yaml": one for one in beside},
        "metadata/annotations.yaml": {"annotations": labels},
    }
    if optional := [_named(one) for one in beside if one["apiVersion"].startswith(_OPTIONAL)]:
        value = {"manifests": optional}
        properties = {"properties": [{"type": "olm.manifests.optional", "value": value}]}
        documents["metadata/properties.yaml"] = properties
    header = _HEADER.format(name=release.name)
    files = {path: header + to_yaml(document, in_ascii=False) for path, document in documents.items()}
    lines = [f"LABEL {name}={value}\n" for name, value in labels.items()]
    copied = "COPY manifests /manifests/\nCOPY metadata /metadata/\n"
    return {**files, "bundle.Dockerfile": f"{header}FROM scratch\n{''.join(lines)}{copied}"}


def _beside(release: Release, folder: Path) -> Iterator[dict[str, Any]]:
    """Return the objects that OLM installs in the Deployment's namespace, except the webhook's Service."""
    webhook = webhook_service(replace(release.options, webhook_service="")).name
    for path in sorted(folder.glob("*/*.yaml")):
        for document in read_documents(path):
            given = (document.get("kind"), (document.get("metadata") or {}).get("name"))
            if given[0] in _BESIDE and given != ("Service", webhook):
                metadata = {k: v for k, v in (document.get("metadata") or {}).items() if k != "namespace"}
                if "name" not in metadata:
                    raise UsageError(
                        f"{path} has a {document['kind']} without a name", "give it metadata.name"
                    )
                # OLM chooses the namespace, so remove it from the metric queries. Their label `job` can stay,
                # because it is the Service's name.
                namespace = release.deployment["metadata"].get("namespace", "")
                text = json.dumps({**document, "metadata": metadata})
                yield json.loads(text.replace(f'namespace=\\"{namespace}\\",', ""))


def _named(manifest: Mapping[str, Any]) -> dict[str, str]:
    names = {"kind": manifest["kind"], "name": manifest["metadata"]["name"]}
    return {"group": manifest["apiVersion"].partition("/")[0], **names}


def _merged(made: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the fields of both mappings, at any depth. If both have a field, the value in given wins."""
    return {**made} | {
        name: _merged(made[name], value)
        if isinstance(value, Mapping) and isinstance(made.get(name), Mapping)
        else value
        for name, value in given.items()
    }


def _refuse_links(folder: Path, files: Iterable[str]) -> None:
    """Raises: UsageError if a symbolic link would cause one of the files to be written elsewhere."""
    for path in (folder / name for name in files):
        for link in (path.parent, path):
            if link != folder and link.is_symlink():
                raise UsageError(f"{link} is a link, and its target would be overwritten", fix=f"rm {link}")


def _outdated(folder: Path, name: str, files: Iterable[str]) -> list[Path]:
    """Return manifests from earlier runs that are not among files. OLM would still install them."""
    current = {folder / path for path in files}
    return [
        path
        for path in sorted((folder / "manifests").glob("*.yaml"))
        if path not in current and path.read_text(encoding="utf-8").startswith(_HEADER.format(name=name))
    ]
