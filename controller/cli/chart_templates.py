"""
The templates of an operator's chart: the files in `manifests`, with chart values in place of fixed settings.

Objects are named after the release: NAME-metrics becomes RELEASE-metrics. A release with the operator's name
produces the same objects as kustomize.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from handloop.controller.cli.declarations import declared_access, declared_kinds
from handloop.controller.cli.helm_template import HelmTemplate, changed, where
from handloop.controller.cli.options import FLAGS, Options
from handloop.controller.cli.project_files import SOMEWHERE, ProjectTable
from handloop.controller.cli.webhook import any_is_converted, definition_of
from handloop.controller.runtime.rbac.roles import roles, user_roles

FOLDERS: Final = {
    "manager": "",
    "rbac": "",
    "default": "",
    "webhook": "",
    "network-policy": "($.Values.networkPolicy).enabled",
    "prometheus": "($.Values.monitoring).enabled",
}
"""The folders in `manifests` with the operator's objects, and the condition under which each is included."""
_APP: Final = "app.kubernetes.io/name"
_MADE: Final = ("rbac/role.yaml", "rbac/user_roles.yaml")
_OF_HELM: Final = ("Namespace", "Kustomization", "Component")
_WITHOUT_NAMESPACE: Final = re.compile(
    "Namespace|PriorityClass|CustomResourceDefinition|Cluster.*|(Validating|Mutating)(Webhook|Admission).*"
)
_SOME_NAMESPACE: Final = "each-namespace"
_LABELS: Final = ("labels", "matchLabels", "selector")
_NAMED: Final = ("metadata", "roleRef", "subjects", "configMap", "configMapRef", "secretRef")
_NAMES: Final = ("serviceAccountName", "secretName", "resourceNames")
"""Fields whose value may be the name of an object. In the fields in _NAMED, it is the value of `name`."""
_MODES: Final = re.compile("--?(leader-elect|shards|namespace|all-namespaces)(=.*)?|-(n)(?!amespace)(.*)|-A")
_OF_VALUES: Final = ("leader_elect", "shards", "namespace")
"""The options that the chart's values set. The container's arguments and environment must not change them."""
_OF_PODS: Final = ("imagePullSecrets", "nodeSelector", "tolerations", "affinity", "priorityClassName")
_METRICS_CERTIFICATE: Final = "($.Values.metrics).certificateSecret"
_WEBHOOK_CERTIFICATE: Final = "($.Values.webhook).certificateSecret"
_WEBHOOK_CERTIFICATE_PATCH: Final = (
    {"path": "args/-", "value": "--webhook-cert-dir=/webhook-cert"},
    {"path": "volumeMounts/-", "value": {"name": "cert", "mountPath": "/webhook-cert", "readOnly": True}},
    {"path": "volumes/-", "value": {"name": "cert", "secret": {"secretName": ""}}},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """
    The parts from which the charts are built.

    Args: options are the options that the Deployment's container sets; objects are the documents in
    `manifests`, by path; patches are the "add" operations of its JSON patches, by folder; dashboard is a
    Grafana dashboard as JSON, or "" without one.
    """

    options: Options
    deployment: Mapping[str, Any]
    project: ProjectTable
    image: str
    version: str
    objects: Mapping[str, Sequence[Mapping[str, Any]]]
    patches: Mapping[str, Sequence[Mapping[str, Any]]]
    dashboard: str

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.options.operator.name

    @property
    def pod(self) -> dict[str, Any]:
        """The spec of the Deployment's pods."""
        spec: dict[str, Any] = self.deployment["spec"]["template"]["spec"]
        return spec

    @property
    def converts(self) -> bool:
        """Whether the program has a conversion webhook."""
        return any_is_converted(declared_kinds(self.options))

    def template(self) -> HelmTemplate:
        """Return a HelmTemplate whose marks occur in none of the documents."""
        kinds = [definition_of(kind, self.options) for kind in declared_kinds(self.options)]
        return HelmTemplate(json.dumps([kinds, self.deployment, self.objects, self.patches, self.dashboard]))


def definition_templates(source: ChartSource) -> Iterator[tuple[str, str]]:
    """Yield the file name and text of each template in the chart of the CRDs."""
    template = source.template()
    keep = template.fields("{{- if $.Values.keep }}\nhelm.sh/resource-policy: keep\n{{- end }}")
    for kind in declared_kinds(source.options):
        definition = definition_of(kind, source.options)
        metadata = definition["metadata"]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **keep}
        conversion = definition["spec"].get("conversion") or {}
        if service := conversion.get("webhook", {}).get("clientConfig", {}).get("service"):
            ending = service["name"].removeprefix(source.name)
            service["name"] = template.inline("$.Values.operator.name") + ending
            place = "$.Values.operator.namespace | default $.Release.Namespace"
            service["namespace"] = template.inline(place)
        yield f"{kind.resource.group}_{kind.resource.plural}.yaml", template.rendered(definition)


def operator_templates(source: ChartSource) -> Iterator[tuple[str, str]]:
    """Yield the file name and text of each template in the operator's chart."""
    return _Templates(source).files()


class _Templates:
    """Makes the templates of one operator."""

    def __init__(self, source: ChartSource) -> None:
        self._source = source
        self._template = source.template()
        self._fullname = self._template.inline(f'include "{source.name}.fullname" $')
        self._whole_name = self._template.inline(f'include "{source.name}.fullname" $ | quote')
        self._each_namespace = self._template.inline(". | quote")
        documents = (one for each in source.objects.values() for one in each)
        own = [one.get("metadata") or {} for one in documents if one.get("kind") not in _OF_HELM]
        names = {str(one.get("name", "")) for one in (*own, *(role["metadata"] for role in self._made("")))}
        kinds = declared_kinds(source.options)
        people = [role for kind in kinds for role in user_roles(kind, name=source.name)]
        names |= {f"{source.name}-dashboard", *(role["metadata"]["name"] for role in people)}
        longer = sorted((n for n in names if n.startswith(f"{source.name}-")), reverse=True)
        self._others = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longer)) or '(?!)'})(?![\w-])")
        self._system = re.compile(rf"(?<![\w.-]){re.escape(source.name)}-system(?![\w-])")

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield each template's file name and text."""
        source = self._source
        yield "deployment.yaml", self._rendered(self._deployment())
        yield "roles.yaml", self._roles()
        kinds = declared_kinds(source.options)
        if people := [role for kind in kinds for role in user_roles(kind, name=source.name)]:
            text = "---\n".join(map(self._rendered, people))
            yield "user_roles.yaml", where("($.Values.userRoles).enabled", text)
        for place, documents in source.objects.items():
            folder, _, file = place.partition("/")
            shown = [one for one in documents if one.get("kind", "Kustomization") not in _OF_HELM]
            if place == "manager/deployment.yaml":
                file, shown = "beside_deployment.yaml", [one for one in shown if one["kind"] != "Deployment"]
            if shown and place not in _MADE and (folder != "webhook" or source.converts):
                yield file, where(FOLDERS[folder], "---\n".join(map(self._object, shown)))
        if source.dashboard:
            yield "dashboard.yaml", where(FOLDERS["prometheus"], self._rendered(self._dashboard()))

    def _object(self, document: Mapping[str, Any]) -> str:
        """
        Return an object's template.

        The template of the role binding creates one for each namespace in the chart's values.
        """
        if document["kind"] == "PodDisruptionBudget":
            return where("($.Values.podDisruptionBudget).enabled", self._rendered(document))
        text = self._rendered(document)
        if (document["kind"], document["metadata"]["name"]) != ("ClusterRoleBinding", self._source.name):
            return text
        inner = {**document, "kind": "RoleBinding", "roleRef": {**document["roleRef"], "kind": "Role"}}
        inner["metadata"] = {**document["metadata"], "namespace": self._each_namespace}
        each = f"{{{{- range $.Values.namespaces }}}}\n---\n{self._rendered(inner)}{{{{- end }}}}\n"
        return where(self._of_cluster(), text) + each

    def _of_cluster(self) -> str:
        """Return the condition for the cluster-wide binding, or "" if cluster-scoped access requires it."""
        made = [(one["kind"], one["metadata"]["name"]) for one in self._made(_SOME_NAMESPACE, shards=0)]
        return "" if ("ClusterRole", self._source.name) in made else "not $.Values.namespaces"

    def _roles(self) -> str:
        """Return the roles as alternatives: with shards, for some namespaces, or for all namespaces."""
        slots = self._source.options.shards or 1
        sharded = self._made("", shards=slots, leader_elect=False)
        some = self._made(_SOME_NAMESPACE, shards=0, leader_elect=True)
        all_ = self._made("", shards=0, leader_elect=True)
        both = "and $.Values.shards $.Values.namespaces"
        told = "shards require all namespaces: leave namespaces empty"
        blocks = [
            f'{{{{- if {both} }}}}\n{{{{- fail "{told}" }}}}\n{{{{- else if $.Values.shards }}}}\n',
            *map(self._role, sharded),
            "{{- else if $.Values.namespaces }}\n",
            *map(self._role, some),
            "{{- else }}\n",
            *map(self._role, all_),
            "{{- end }}\n",
        ]
        return "".join(blocks)

    def _made(self, namespace: str, **chosen: Any) -> list[dict[str, Any]]:
        options = replace(
            self._source.options, namespace=namespace, leader_elect_resource_namespace="", **chosen
        )
        return roles(declared_access(options), namespaces=options.namespaces, name=self._source.name)

    def _role(self, role: dict[str, Any]) -> str:
        metadata = role["metadata"]
        if metadata.get("namespace") != _SOME_NAMESPACE:
            return f"---\n{self._rendered(role)}"
        each = {**role, "metadata": {**metadata, "namespace": self._each_namespace}}
        return f"{{{{- range $.Values.namespaces }}}}\n---\n{self._rendered(each)}{{{{- end }}}}\n"

    def _dashboard(self) -> dict[str, Any]:
        name = self._source.name
        labels = {_APP: name, "grafana_dashboard": "1"}
        metadata = {"name": f"{name}-dashboard", "labels": labels}
        data = {"dashboard.json": self._source.dashboard}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    def _rendered(self, document: Mapping[str, Any]) -> str:
        """Return a document with the release's names, namespace and labels."""
        name, template = self._source.name, self._template
        metadata = dict(document["metadata"])
        if not _WITHOUT_NAMESPACE.fullmatch(document["kind"]):
            metadata.setdefault("namespace", f"{name}-system")
        labels = template.nindent(f'include "{name}.labels" $')
        metadata["labels"] = {**(metadata.get("labels") or {}), **template.fields(labels)}
        if document["kind"] == "ServiceAccount":
            given = self._with("serviceAccount).annotations", "dict `annotations` .", of="(")
            metadata |= template.fields(given)
        return template.rendered(changed({**document, "metadata": metadata}, self._renamed))

    def _renamed(self, path: tuple[str, ...], text: str) -> str:
        """Replace the operator's object names and namespace in a string with the release's."""
        field, above = path[-1], path[-2] if len(path) > 1 else ""
        if text == self._source.name:
            is_name = (
                field in _NAMES or (field == "name" and above in _NAMED) or not {*path}.isdisjoint(_LABELS)
            )
            return self._whole_name if is_name else text
        if field == "namespace" and text in (SOMEWHERE, f"{self._source.name}-system"):
            return self._template.inline("$.Release.Namespace | quote")
        if field in ("resources", "apiGroups", "image"):
            return text
        name = self._source.name
        text = self._others.sub(lambda found: self._fullname + found[0].removeprefix(name), text)
        return self._system.sub(self._template.inline("$.Release.Namespace"), text)

    def _deployment(self) -> dict[str, Any]:
        deployment: dict[str, Any] = json.loads(json.dumps(self._source.deployment))
        spec, template = deployment["spec"], self._template
        spec["replicas"] = template.inline("$.Values.replicas | int64")
        metadata, pod = spec["template"]["metadata"], spec["template"]["spec"]
        for of, value in (("labels", "podLabels"), ("annotations", "podAnnotations")):
            own = metadata.get(of) or {}
            given = (
                self._with(f"{value} {' '.join(map(json.dumps, own))}", ".", of="omit ")
                if own
                else self._with(value, ".")
            )
            metadata[of] = {**own, **template.fields(given)}
        for name in _OF_PODS:
            pod.pop(name, None)
            pod |= template.fields(self._with(name, f"dict `{name}` ."))
        pod.pop("topologySpreadConstraints", None)
        pod |= template.fields(self._spread())
        container = pod["containers"][0]
        self._set_container(container)
        self._set_list(pod, "volumes")
        return deployment

    def _spread(self) -> str:
        """Return the spread constraints. A constraint without a selector gets one for the release's pods."""
        own = f'dict "matchLabels" (dict "{_APP}" (include "{self._source.name}.fullname" $))'
        selector = f'dict "labelSelector" (.labelSelector | default ({own}))'
        each = self._template.nindent(f"list (merge (dict) . ({selector})) | toYaml", 2)
        inner = f"topologySpreadConstraints:\n{{{{- range . }}}}\n{each}\n{{{{- end }}}}"
        return f"{{{{- with $.Values.topologySpreadConstraints }}}}\n{inner}\n{{{{- end }}}}"

    def _set_container(self, container: dict[str, Any]) -> None:
        template, image = self._template, "$.Values.image"
        # Helm reads a number in a values file as a float64, and would print it as 2.0260101e+07.
        number = f'kindIs "float64" {image}.tag'
        tag = f"ternary (int64 {image}.tag) ({image}.tag | default $.Chart.AppVersion) ({number})"
        version = f'ternary (printf ":%v" ({tag})) (printf "@%v" {image}.digest) (empty {image}.digest)'
        container["image"] = template.inline(f'printf "%s%s" {image}.repository ({version}) | quote')
        container["imagePullPolicy"] = template.inline(f"{image}.pullPolicy")
        container["resources"] = template.lines(template.nindent("toYaml $.Values.resources"))
        container["args"] = template.lines(self._args(container.get("args") or []))
        for name in ("env", "ports", "volumeMounts"):
            self._set_list(container, name)
        for one in self._source.patches.get("webhook", ()) if self._source.converts else ():
            field = str(one["path"]).rpartition("/")[2]
            if field != "-":
                container[field] = one["value"]

    def _args(self, args: Sequence[str]) -> str:
        """Return the container's arguments. The chart's values determine the mode and the namespaces."""
        mode = (
            "{{- if $.Values.shards }}\n- --shards={{ $.Values.shards | int64 }}\n"
            "{{- else if $.Values.leaderElection }}\n- --leader-elect\n{{- end }}\n"
        )
        is_before = True
        blocks: list[str] = []
        for nth, word in enumerate(args):
            before = _MODES.fullmatch(args[nth - 1]) if nth else None
            # This word is the value of the mode flag before it, so leave it out too.
            if before and not before[2] and not before[4] and not word.startswith("-"):
                continue
            if (found := _MODES.fullmatch(word)) is None:
                blocks.append(self._template.item(word))
                continue
            if is_before and found[1] in ("leader-elect", "shards"):
                blocks.append(mode)
                is_before = False
        if is_before:
            blocks.insert(0, mode)
        own = [f"--leader-elect-resource-name={self._fullname}"]
        if self._source.converts:
            own.append(f"--webhook-service={self._fullname}-webhook")
        named = f'ne (include "{self._source.name}.fullname" $) "{self._source.name}"'
        return "".join(
            [
                *blocks,
                where(named, "".join(map(self._template.item, own))),
                '{{- with $.Values.namespaces }}\n- --namespace={{ join "," . }}\n{{- end }}\n',
                *self._added("args"),
                "{{- range $.Values.args }}\n- {{ . | quote }}\n{{- end }}\n",
            ]
        )

    def _set_list(self, above: dict[str, Any], name: str) -> None:
        """
        Replace the list above[name] by template lines: its items, and those that patches add on conditions.

        The list `env` also gets the items of the chart value `env`.
        """
        items = above.pop(name, None) or []
        if name == "env":
            operator = self._source.options.operator
            left_out = {FLAGS[option].variable(option, operator) for option in _OF_VALUES}
            items = [one for one in items if one.get("name") not in left_out]
        text = "".join(map(self._template.item, items)) + "".join(self._added(name))
        conditions = [condition for condition, _ in self._patched(name)]
        if name == "env":
            text += self._with(name, ".") + "\n"
            conditions.append("$.Values.env")
        if not text:
            return
        is_sure = items or "" in conditions
        needed = "" if is_sure else f"or {' '.join(conditions)}"
        above |= self._template.fields(where(needed, f"{name}:\n{text}").rstrip())

    def _added(self, name: str) -> Iterator[str]:
        """Yield the template lines of the items that patches add to a list."""
        for condition, value in self._patched(name):
            yield where(condition, self._template.item(value))

    def _patched(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield the items that patches add to a list, each with its condition."""
        for patch, condition in self._choices():
            for one in patch:
                if str(one["path"]).endswith(f"{name}/-"):
                    yield condition, self._with_secret(one["value"], condition)

    def _choices(self) -> Iterator[tuple[Iterable[Mapping[str, Any]], str]]:
        patches = self._source.patches
        if self._source.converts:
            yield patches.get("webhook", ()), ""
            yield _WEBHOOK_CERTIFICATE_PATCH, _WEBHOOK_CERTIFICATE
        if self._source.options.metrics_auth:
            yield patches.get("metrics-cert", ()), _METRICS_CERTIFICATE

    def _with_secret(self, item: Any, condition: str) -> Any:
        """Return the item. If it is a volume of a Secret, the chart's value gives the Secret's name."""
        if not (isinstance(item, dict) and "secret" in item and condition):
            return item
        return {**item, "secret": {"secretName": self._template.inline(f"{condition} | quote")}}

    def _with(self, value: str, expression: str, of: str = "") -> str:
        """
        Return template lines that insert the result of expression, unless a chart value is empty.

        Args: of is put before the value in the template, for example to call the function `omit` on it.
        """
        shown = self._template.nindent(f"{expression} | toYaml")
        return f"{{{{- with {of}$.Values.{value} }}}}\n{shown}\n{{{{- end }}}}"
