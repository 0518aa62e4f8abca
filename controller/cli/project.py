"""
An operator's project, which `handloop init` and `handloop create` build from templates/.

Templates are plain files with `%{name}` placeholders in their content. Their paths contain PACKAGE, MODULE,
and DOT. DOT stands for a leading dot, because tools would read a dotfile here as their configuration.
"""

from __future__ import annotations

import ast
import keyword
import re
import string
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from handloop.apis.declaration import is_built_in
from handloop.apis.grammar.yaml_text import from_yaml, scalar, to_yaml
from handloop.controller.cli.own_wheel import neighbour_wheels, own_wheel
from handloop.controller.cli.shipped_manifests import shipped_manifests

TEMPLATES: Final = Path(__file__).parent / "templates"
_SUFFIX: Final = ".tmpl"
_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
# The limit is due to the name of the lease's role, which also contains a namespace of up to 63 characters.
_NAME: Final = r"[a-z]([-a-z0-9]{0,40}[a-z0-9])?"
_DOMAIN: Final = rf"(?=.{{,128}}$){_LABEL}(\.{_LABEL})+"
"""The domain's length is limited, because a CRD's name consists of a plural, a group and the domain."""
_VERSION: Final = r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?"
_KIND: Final = r"[A-Z][A-Za-z0-9]{0,58}"
"""A kind's length is limited, so that the kind with the suffix List is still a valid label."""
_GROUP_VERSION_KIND: Final = rf"({_LABEL}(\.{_LABEL})*/)?{_VERSION}/[A-Za-z][A-Za-z0-9]*"
_OF_KUBERNETES: Final = ("k8s.io", "kubernetes.io")
_IMPORTED: Final = frozenset(
    {"APIStruct", "Callable", "ConfigMap", "Context", "Kind", "Manager", "Path"}
    | {"NAME", "RunningOperator", "RunningSandbox", "SAMPLE"}
)
"""Names that the templates use, in addition to the kind's name."""
_TAKEN: Final = frozenset({*sys.stdlib_module_names, *keyword.kwlist, "handloop", "pod", "tests"})
"""Names that a project's package cannot have."""
_SHADOWED: Final = ("controllers", "object", "tuple")
"""Names that a kind's module cannot have, because controllers.py uses them."""
_NEAR: Final = 0.9
"""The similarity at which a name counts as a misspelling of a known one."""
NAMESPACED: Final = "Namespaced"
_ENVELOPE: Final = ("apiVersion", "kind")
_THIS_BUILD: Final = """\
note: the wheels are the running handloop and its neighbours; make and the image install them from their
paths, not from an index"""
_OTHER_BUILD: Final = """\
note: this project's wheels are from another build of handloop than the one that is running
  theirs: {other}
  runs:   {own}
  fix: to switch, rm -r wheels requirements.in requirements-dev.in, and repeat here:
       handloop init {folder} --domain {domain}   (then make lock, if there are locks)"""
IMPORT_MARK: Final = "# handloop:import"
SET_UP_MARK: Final = "    # handloop:set-up"


_FUNCTIONS: Final = '''\
    @classmethod
    def from_previous(cls, old: {name}) -> "{kind}":
        """Convert an object of the version before, as tests/test_{module}_versions.py tests."""
{forth}        return cls(metadata=old.metadata{parts})

    def to_previous(self) -> {name}:
        """Convert this object to the version before."""
{back}        return {name}(metadata=self.metadata{parts})
'''
_JOINING: Final = ("from_previous", "to_previous")
_KEPT: Final = "    kept_fields"
_PROOF: Final = '''\
"""The versions of {kind}: converting between them loses nothing."""

from handloop.testing import assert_converts

from {package}.{module}.types import {kind}


def test_no_version_loses_anything() -> None:
    """Convert objects of each version to the others and back; the smallest that changes is shown."""
    assert_converts({kind})
'''


class ProjectError(Exception):
    """A project cannot be created or extended. The message says why; fix is what to type, or ""."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


class _Template(string.Template):
    delimiter = "%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """
    The folder of one operator.

    Invariant: only new files are written, with two exceptions: add_api and add_controller add lines to
    controllers.py, and add_version changes types.py. Each method yields a line of text for each file that it
    wrote, and for each existing file that it kept because its content differs.
    """

    folder: Path
    name: str
    domain: str
    templates: Path = field(default=TEMPLATES, compare=False)

    def __post_init__(self) -> None:
        """
        Check the names, because paths and code contain them.

        Raises: ProjectError for names that a server or Python refuses.
        """
        _check("an operator", self.name, _NAME, "my-operator")
        _check("a domain", self.domain, _DOMAIN, "example.com")
        if f".{self.domain}".endswith(tuple(f".{each}" for each in _OF_KUBERNETES)):
            raise ProjectError(f"{self.domain} is Kubernetes' own", "--domain with your own domain")
        if self.package in _TAKEN:
            text = f"{self.package} is a name that Python or handloop uses"
            raise ProjectError(text, "choose another name")

    @classmethod
    def new(cls, folder: Path, domain: str) -> Project:
        """
        Return a project that is named after its folder. The folder may already exist.

        Raises: ProjectError for an invalid name, or if the folder contains another project.
        """
        project = cls(folder=folder, name=folder.resolve().name, domain=domain)
        if (folder / "pyproject.toml").exists() and (found := cls.at(folder)) != project:
            raise ProjectError(
                f"{folder} already contains the project {found.name} with the domain {found.domain}"
            )
        return project

    @classmethod
    def at(cls, folder: Path) -> Project:
        """Return the project in a folder. Raises: ProjectError if there is none, or its names are invalid."""
        try:
            document = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
            found: Mapping[str, Any] = document["tool"]["handloop"]
            return cls(folder=folder, name=str(found["name"]), domain=str(found["domain"]))
        except FileNotFoundError:
            why = "has no pyproject.toml"
        except (KeyError, TypeError):
            why = "has a pyproject.toml without name and domain in [tool.handloop]"
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            why = f"has a pyproject.toml that cannot be read: {error}"
        raise ProjectError(
            f"{folder.resolve()} is not a handloop project: it {why}", "handloop init NAME --domain DOMAIN"
        )

    @property
    def package(self) -> str:
        """`my_operator`."""
        return self.name.replace("-", "_")

    def write(self) -> Iterator[str]:
        """
        Write the files that every operator has.

        Raises: OSError if a file cannot be written; NotInstalledError if a package that the project's tests
        need is missing.
        """
        own = own_wheel()
        wheels = {"": own, **neighbour_wheels()}
        yield from self.write_scaffold({neighbour: name for neighbour, (name, _) in wheels.items()})
        if other := self._other_build(dict(wheels.values())):
            yield _OTHER_BUILD.format(other=other, own=own[0], folder=self.folder, domain=self.domain)
            return
        for name, wheel in wheels.values():
            yield from _write(self.folder / "wheels" / name, wheel)
        yield _THIS_BUILD

    def write_scaffold(self, wheels: Mapping[str, str]) -> Iterator[str]:
        """
        Write the files that every operator has, except for the wheels.

        Args: wheels maps each extra, such as `sandbox`, to the wheel of its package. The key "" stands for
        handloop's own wheel.
        Raises: OSError if a file cannot be written.
        """
        own = wheels.get("", "")
        neighbours = {extra: name for extra, name in wheels.items() if extra}
        names = {"wheel": f"./wheels/{own}", "scaffold": own, "extras": ",".join(neighbours)}
        names["neighbours"] = "\n".join(f"./wheels/{name}" for name in neighbours.values())
        yield from self._fill("project", names)
        for place, text in shipped_manifests(self.name, self.templates / "manifests"):
            yield from _write(self.folder / "manifests" / place, text.encode())

    def _other_build(self, wheels: Mapping[str, bytes]) -> str:
        """Return the handloop wheels that the project requires and that come from another build."""
        files = sorted(self.folder.glob("requirements*.in"))
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        named = dict.fromkeys(re.findall(r"^\./wheels/(handloop[-_][^\[\s]*\.whl)", text, re.MULTILINE))
        there = {path.name: path.read_bytes() for path in (self.folder / "wheels").glob("*.whl")}
        # A missing wheel does not count if this build can write it again.
        return ", ".join(name for name in named if there.get(name, wheels.get(name)) != wheels.get(name, b""))

    def add_api(self, *, group: str, version: str, kind: str, scope: str = NAMESPACED) -> Iterator[str]:
        """
        Add a kind: types, reconciler, test, sample, and the lines that register its controller.

        Raises: ProjectError for bad names, or if the kind exists in another group or version; OSError if a
        file cannot be written.
        """
        _check("a group", group, _LABEL, "web")
        _check("a version", version, _VERSION, "v1, or v1alpha1")
        _check("a kind", kind, _KIND, "Site")
        group = f"{group}.{self.domain}"
        self._check_unlike(module_of(kind), kind, f'group="{group}", version="{version}"')
        names = {"group": group, "version": version, "scope": ""}
        if scope != NAMESPACED:
            names["scope"] = f', scope="{scope}"'
        yield from self._add("api", kind, namespaced=scope == NAMESPACED, names=names)

    def add_controller(self, api_version: str, kind: str) -> Iterator[str]:
        """
        Add a controller for a built-in kind: reconciler, test, sample, and the lines that register it.

        Raises: ProjectError for a kind without a sample in templates/; OSError if a file cannot be written.
        """
        text = (TEMPLATES / "objects.yaml").read_text(encoding="utf-8")
        known = {(each["apiVersion"], each["kind"]): each for each in from_yaml(text)}
        if (api_version, kind) not in known:
            raise self._unknown(api_version, kind, ["/".join(each) for each in known])
        module = _module_of_types(api_version)
        imported = {"handloop.kinds.core_v1": {"ConfigMap"}}
        imported.setdefault(module, set()).add(kind)
        lines = [f"from {one} import {', '.join(sorted(imported[one]))}" for one in sorted(imported)]
        namespaced = getattr(import_module(module), kind).resource.namespaced
        fields = {key: value for key, value in known[api_version, kind].items() if key not in _ENVELOPE}
        names = {
            "api_version": api_version,
            "imports": "\n".join(lines),
            "fields": to_yaml(fields) if fields else "",
        }
        yield from self._add("controller", kind, namespaced=namespaced, names=names)

    def add_version(self, kind: str, version: str, *, functions: bool = False) -> Iterator[str]:
        """
        Give one of the project's kinds a new version, and move the current class to a separate module.

        Args: functions=True also writes the two functions that convert between the versions, and a test for
        them.
        Raises: ProjectError for an unknown kind, a version that the kind already has, or a class statement
        that has an unexpected form; OSError if a file cannot be written.
        """
        _check("a kind", kind, _KIND, "Site")
        _check("a version", version, _VERSION, "v1, or v1alpha1")
        module = module_of(kind)
        types = self.folder / self.package / module / "types.py"
        text = types.read_text(encoding="utf-8") if types.exists() else ""
        line = re.search(
            rf'^class {kind}\(Kind, group="[^"]+", version="([^"]+)"(.*)\):$', text, re.MULTILINE
        )
        if line is None:
            raise ProjectError(f'{types} has no line `class {kind}(Kind, group="...", version="..."):`')
        old, rest = line.groups()
        before = types.with_name(f"types_{old}.py")
        if version == old or before.with_name(f"types_{version}.py").exists():
            raise ProjectError(f"{kind} has the version {version}")
        name = f"{kind}{''.join(part.capitalize() for part in re.findall('v[0-9]+|[a-z]+[0-9]+', old))}"
        head = line[0].removesuffix(f"{rest}):")
        renamed = head.replace(f"class {kind}(", f"class {name}(")
        now = head.replace(f'version="{old}"', f'version="{version}", previous={name}')
        own = re.sub(rf"-> ([\"']?){kind}\1:", rf"-> \1{name}\1:", text)
        kept = re.sub(r", previous=(\w+)", "", rest)
        for gone in re.findall(r"previous=(\w+)", rest):
            text = re.sub(rf"^from .* import {gone}\n", "", text, flags=re.MULTILINE)
        try:
            text = _without_functions(text, kind)
        except SyntaxError as error:
            raise ProjectError(f"{types} cannot be read: {error}") from error
        yield from _write(before, own.replace(line[0], f'{renamed}, kind="{kind}"{rest}):').encode())
        added = f"from {self.package}.{module}.types_{old} import {name}\n"
        text = _imported(text.replace(line[0], f"{now}{kept}):"), added, self.package)
        if functions:
            text = self._joined(text, added, kind, module, old)
        types.write_text(text, encoding="utf-8")
        yield f"changed: {types}"
        if functions:
            test = _PROOF.format(package=self.package, module=module, kind=kind)
            yield from _write(self.folder / "tests" / f"test_{module}_versions.py", test.encode())

    def _joined(self, text: str, added: str, kind: str, module: str, old: str) -> str:
        """
        Return the text of types.py with the two conversion functions added to the class.

        Args: added is the line that imports the class of the old version.
        """
        begin = text.index("\n", text.index(f"class {kind}(Kind, "))
        end = re.search(r"^\S", text[begin:], re.MULTILINE)
        at = len(text) if end is None else begin + end.start()
        parts = re.findall(r"^    (spec|status): (\w+)", text[begin:at], re.MULTILINE)
        before, name = f"types_{old}", added.rpartition(" ")[2].strip()
        line = "        {part} = same_fields({of}.{part}, {to})\n"
        functions = _FUNCTIONS.format(
            kind=kind,
            name=name,
            module=module,
            forth="".join(line.format(part=part, of="old", to=its) for part, its in parts),
            back="".join(line.format(part=part, of="self", to=f"{before}.{its}") for part, its in parts),
            parts="".join(f", {part}={part}" for part, _ in parts),
        )
        rest = text[at:] and f"\n\n{text[at:]}"
        text = f"{text[:at].rstrip()}\n\n{functions}{rest}"
        text = text.replace(added, f"from {self.package}.{module} import {before}\n{added}")
        line = r"^(from handloop import )(\(\n[^)]*?(?=\n?\))|[^(\n]*)"
        return re.sub(line, _with_same_fields, text, count=1, flags=re.MULTILINE)

    def add_view(self, kind: str, text: str) -> Iterator[str]:
        """
        Add a module with a view of another program's kind, e.g. views/certificate.py.

        Raises: OSError if a file cannot be written.
        """
        folder = self.folder / self.package / "views"
        yield from _write(folder / "__init__.py", b'"""Views of other programs\' kinds."""\n')
        yield from _write(folder / f"{module_of(kind).replace('-', '_')}.py", text.encode())

    def _unknown(self, api_version: str, kind: str, known: Sequence[str]) -> ProjectError:
        """
        Return the error for a kind for which no controller can be created.

        Args: known are the kinds for which a controller can be created.
        """
        group, _, version = api_version.rpartition("/")
        named = "/".join(filter(None, (api_version, kind)))
        text, is_others = f"handloop cannot create a controller for {named}", not is_built_in(group)
        same = [one for one in known if one.rpartition("/")[2] == kind and not is_others]
        if near := same or get_close_matches(named, known, 1, _NEAR):
            return ProjectError(text, f"did you mean {near[0]}?")
        if not re.fullmatch(_GROUP_VERSION_KIND, named):
            return ProjectError(f"{text}: that is not GROUP/VERSION/KIND", f"one of {', '.join(known)}")
        if group.endswith(f".{self.domain}"):
            first = group.removesuffix(f".{self.domain}")
            fix = f"handloop create api --group {first} --version {version} --kind {kind}"
            return ProjectError(f"{text}: {group} is a group of this project", fix)
        made, by_hand = f"`handloop create controller --for {known[0]}`", "docs/how-to/foreign-kinds.md"
        module = _module_of_types(api_version)
        if not is_others and find_spec(module) and hasattr(import_module(module), kind):
            fix = f"run {made}, then use {kind} from {module} and your own sample instead: {by_hand}"
            return ProjectError(f"{text}: handloop has its type, but no sample", fix)
        views = f'a class with group="{group}", version="{version}", partial=True and the fields you read'
        if is_others:
            views = f"the class that `handloop create view --for PLURAL.{group}` writes"
        fix = f'run {made}, then use Unstructured.of("{api_version}", "{kind}") or {views} instead: {by_hand}'
        why = "another program defines it" if is_others else "handloop has no type for it"
        return ProjectError(f"{text}: {why}", fix)

    def _add(self, templates: str, kind: str, *, namespaced: bool, names: Mapping[str, str]) -> Iterator[str]:
        """Write a controller's files from the templates, and register it. Raises: ProjectError, OSError."""
        module = module_of(kind)
        if kind in _IMPORTED or keyword.iskeyword(kind) or keyword.iskeyword(module) or module in _SHADOWED:
            raise ProjectError(f"{kind} is a name that Python or handloop uses", "choose another kind")
        lower = kind.lower()
        where = {"child": "", "place": "\n  namespace: default"}
        if not namespaced:
            where = {"child": ', namespace="default"', "place": ""}
        of_kind = {"kind": kind, "module": module, "lower": lower, "sample": f"{lower}-sample"}
        of_kind["kind_in_yaml"] = scalar(kind)
        of_kind["group_in_path"] = names.get("group", "").replace(".", r"\.")
        yield from self._fill(templates, {**names, **where, **of_kind})
        yield from self._register(module)

    def _check_unlike(self, module: str, kind: str, names: str) -> None:
        types = self.folder / self.package / module / "types.py"
        if types.exists() and f"class {kind}(Kind, {names}" not in types.read_text(encoding="utf-8"):
            raise ProjectError(f"{types} exists, but has no class {kind} with {names}", "choose another kind")

    def _fill(self, templates: str, names: Mapping[str, str]) -> Iterator[str]:
        """Write the files for a folder's templates, with the names filled in."""
        values = {"name": self.name, "package": self.package, "domain": self.domain, **names}
        root = self.templates / templates
        for path in sorted(path for path in root.rglob(f"*{_SUFFIX}") if path.is_file()):
            place = str(path.relative_to(root)).removesuffix(_SUFFIX)
            for word, name in (("PACKAGE", self.package), ("MODULE", names.get("module", "")), ("DOT", ".")):
                place = place.replace(word, name)
            text = _Template(path.read_text(encoding="utf-8")).substitute(values)
            yield from _write(self.folder / place, text.encode())

    def _register(self, module: str) -> Iterator[str]:
        """Add the controller's lines to controllers.py at the two marks, and keep the imports sorted."""
        path = self.folder / self.package / "controllers.py"
        added = f"from {self.package}.{module}.reconciler import set_up as {module}"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if added in lines:
            return
        marks = [line for line in lines if line in (IMPORT_MARK, SET_UP_MARK)]
        if marks != [IMPORT_MARK, SET_UP_MARK]:
            yield (
                f"kept: {path}, because a `# handloop:` line is missing; "
                f"add these yourself: {added}, and {module} to SET_UPS"
            )
            return
        at = lines.index(IMPORT_MARK) + 1
        while lines[at].startswith("from ") and lines[at] < added:
            at += 1
        lines.insert(at, added)
        lines.insert(lines.index(SET_UP_MARK), f"    {module},")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield f"added to: {path}"


def _with_same_fields(line: re.Match[str]) -> str:
    """
    Return the import from handloop in types.py, with same_fields added.

    The import is on one line, or has a line for each name.
    """
    names = line[2].rstrip().rstrip(",")
    return (
        f"{line[1]}{names},\n    same_fields," if names.startswith("(") else f"{line[1]}{names}, same_fields"
    )


def _imported(text: str, added: str, package: str) -> str:
    """Return the text with one more import from the project's package after the existing imports."""
    lines = text.splitlines(keepends=True)
    imports = [each for each in ast.parse(text).body if isinstance(each, ast.Import | ast.ImportFrom)]
    at = imports[-1].end_lineno or 0 if imports else 0
    is_own = bool(imports) and lines[imports[-1].lineno - 1].startswith(f"from {package}.")
    lines.insert(at, added if is_own or not imports else f"\n{added}")
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines))


def _without_functions(text: str, kind: str) -> str:
    """
    Return the text of types.py without a class's conversion functions and kept_fields.

    Raises: SyntaxError if the text is not valid Python.
    """
    lines = text.splitlines(keepends=True)
    classes = [each for each in ast.parse(text).body if isinstance(each, ast.ClassDef) and each.name == kind]
    for node in reversed([each for found in classes for each in found.body]):
        if isinstance(node, ast.FunctionDef) and node.name in _JOINING:
            begin = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
            while not lines[begin - 1].strip():
                begin -= 1
            del lines[begin : node.end_lineno]
        elif isinstance(node, ast.AnnAssign | ast.Assign) and lines[node.lineno - 1].startswith(_KEPT):
            del lines[node.lineno - 1 : node.end_lineno]
    left = "".join(lines)
    if left == text:
        return text
    for word in {"same_fields", *re.findall(r"\bimport (types_v\w+)$", left, re.MULTILINE)}:
        if len(re.findall(rf"\b{word}\b", left)) == 1:
            unused = rf", {word}\b|\n    {word},|^from .* import {word}\n"
            left = re.sub(unused, "", left, flags=re.MULTILINE)
    return left


def _module_of_types(api_version: str) -> str:
    """`handloop.kinds.apps_v1`."""
    group, _, version = api_version.rpartition("/")
    return f"handloop.kinds.{group.partition('.')[0] or 'core'}_{version}"


def module_of(kind: str) -> str:
    """Return `blog_post` for BlogPost, `http_route` for HTTPRoute."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower()


def _check(what: str, word: str, pattern: str, example: str) -> None:
    if not re.fullmatch(pattern, word):
        raise ProjectError(f'"{word}" is not a valid name for {what}', f"a name such as {example}")


def _write(path: Path, content: bytes) -> Iterator[str]:
    """Write a new file. An existing file is left unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(content)
        yield f"wrote: {path}"
    except FileExistsError:
        if path.read_bytes() != content:
            yield f"kept: {path}"
