from __future__ import annotations

import itertools
import os
import string
import textwrap
import threading
from pathlib import Path

import pytest

from handloop.client.auth.kubeconfig import Kubeconfig, merge, raw_cluster, read_kubeconfig
from handloop.client.errors import ConfigError, ConfigProblem
from support.checks.threads import Background

WHOLE = """
apiVersion: v1
kind: Config
preferences: {}
current-context: dev
clusters:
- name: kind
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority: pki/ca.crt
    insecure-skip-tls-verify: false
    tls-server-name: inside
    proxy-url: http://proxy:3128
contexts:
- name: dev
  context: {cluster: kind, user: admin, namespace: demo}
users:
- name: admin
  user:
    client-certificate: pki/admin.crt
    client-key: /absolute/admin.key
    tokenFile: ../token
    as: somebody
    as-groups: [a, b]
    as-user-extra: {scope: [x]}
"""


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_every_field_is_read(tmp_path: Path) -> None:
    """Clusters, users and contexts come out by name."""
    config = read_kubeconfig(write(tmp_path / "config", WHOLE))
    assert config.current_context == "dev"
    assert config.contexts["dev"].namespace == "demo"
    cluster = config.clusters["kind"]
    assert (cluster.server, cluster.tls_server_name) == ("https://127.0.0.1:6443", "inside")
    assert (cluster.insecure_skip_tls_verify, cluster.proxy_url) == ("false", "http://proxy:3128")
    user = config.users["admin"]
    assert (user.act_as, user.act_as_groups, user.act_as_extra) == ("somebody", ["a", "b"], {"scope": ["x"]})
    assert config.files == (str(tmp_path / "config"),)


def test_relative_paths_start_at_their_file(tmp_path: Path) -> None:
    """A file can be moved with the files beside it."""
    config = read_kubeconfig(write(tmp_path / "sub" / "config", WHOLE))
    assert config.clusters["kind"].certificate_authority == str(tmp_path / "sub" / "pki" / "ca.crt")
    user = config.users["admin"]
    assert user.client_certificate == str(tmp_path / "sub" / "pki" / "admin.crt")
    assert user.client_key == "/absolute/admin.key"
    assert user.token_file == str(tmp_path / "token")


def test_a_relative_path_of_the_file_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside a kubeconfig that is given relatively are found from anywhere later."""
    write(tmp_path / "config", WHOLE)
    monkeypatch.chdir(tmp_path)
    assert read_kubeconfig("config").clusters["kind"].certificate_authority == str(
        tmp_path / "pki" / "ca.crt"
    )


@pytest.mark.parametrize(
    "word", ["no", "yes", "on", "12:30:45", "2026-01-01", "007", "1e3", "0x10", "true", "1_000"]
)
def test_names_are_what_was_typed(tmp_path: Path, word: str) -> None:
    """YAML's idea of booleans, dates and numbers does not change a name or a token."""
    text = f"""
    current-context: {word}
    contexts:
    - name: {word}
      context: {{cluster: {word}, user: {word}}}
    users:
    - name: {word}
      user: {{token: {word}}}
    """
    config = read_kubeconfig(write(tmp_path / "config", text))
    assert config.current_context == word
    assert config.contexts[word].cluster == word
    assert config.users[word].token == word


def test_nulls_are_nothing(tmp_path: Path) -> None:
    """What kubectl writes for an empty configuration is an empty configuration."""
    text = 'apiVersion: v1\nclusters: null\ncontexts: ~\ncurrent-context: ""\nkind: Config\nusers:\n'
    assert read_kubeconfig(write(tmp_path / "config", text)).empty
    text = "users:\n- name: u\n  user: {token: null, as-groups: ~}\n- name: v\n  user:\n"
    users = read_kubeconfig(write(tmp_path / "other", text)).users
    assert (users["u"].token, users["u"].act_as_groups, users["v"].token) == ("", [], "")


def test_json_is_yaml(tmp_path: Path) -> None:
    """Some tools write kubeconfigs in JSON."""
    text = '{"clusters":[{"name":"c","cluster":{"server":"http://h","insecure-skip-tls-verify":true}}]}'
    cluster = read_kubeconfig(write(tmp_path / "config", text)).clusters["c"]
    assert (cluster.server, cluster.insecure_skip_tls_verify) == ("http://h", "true")


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    """Hand-written files may share parts."""
    text = """
    base: &base {server: "https://h", tls-server-name: x}
    clusters:
    - name: c
      cluster: {<<: *base, tls-server-name: y}
    """
    cluster = read_kubeconfig(write(tmp_path / "config", text)).clusters["c"]
    assert (cluster.server, cluster.tls_server_name) == ("https://h", "y")


BROKEN = [
    ("a: b: c", "line 1: mapping values are not allowed"),
    ("clusters:\n- name: x\n  cluster: {server: [}", "line 3:"),
    ("a: [1,\nb: 2", "line "),
    ("a: *nowhere", "line 1: found undefined alias"),
    ("a: !!python/object/apply:os.system [true]", "line 1: could not determine a constructor"),
    ("\t- x", "line 1:"),
    ("a: \x01", "not allowed"),
    ("just text", "expected a map at the top, got a single value"),
    ("- a\n- b", "expected a map at the top, got a list"),
    ("kind: Deployment\napiVersion: apps/v1", "this is a Deployment, not a kubeconfig"),
    ("clusters: {a: b}", "clusters: expected a list, got a map"),
    ("users: text", "users: expected a list, got a single value"),
    ("contexts: [text]", "contexts[0]: expected a map with a name"),
    ("contexts: [{context: {}}]", "contexts[0]: expected a map with a name"),
    ("contexts: [{name: '', context: {}}]", "contexts[0]: expected a map with a name"),
    ("contexts: [{name: [x], context: {}}]", "contexts[0]: expected a map with a name"),
    ("contexts: [{name: a, context: text}]", "contexts[0].context: expected a map, got a single value"),
    ("contexts: [{name: a, context: [b]}]", "contexts[0].context: expected a map, got a list"),
    ("contexts: [{name: a}, {name: a}]", 'contexts[1]: the name "a" is used twice'),
    ("clusters: [{name: a, cluster: {server: [x]}}]", "clusters[a].server: expected `str`, got `array`"),
    ("clusters: [{name: a, cluster: {server: {x: y}}}]", "clusters[a].server: expected `str`, got `object`"),
    ("users: [{name: a, user: {token: [x]}}]", "users[a].token: expected `str`"),
    ("users: [{name: a, user: {exec: x}}]", "users[a].exec: expected `object`, got `str`"),
    ("users: [{name: a, user: {exec: [x]}}]", "users[a].exec: expected `object`, got `array`"),
    ("users: [{name: a, user: {as-groups: x}}]", "users[a].as-groups: expected `array`, got `str`"),
    ("users: [{name: a, user: {as-user-extra: {a: b}}}]", "users[a].as-user-extra"),
    ("users: [{name: a, user: {auth-provider: x}}]", "users[a].auth-provider: expected `object`"),
    ("contexts: [{name: a, context: {namespace: {}}}]", "contexts[a].namespace: expected `str`"),
    ("current-context: [a]", "current-context: expected a name, got a list"),
    ("current-context: {a: b}", "current-context: expected a name, got a map"),
]


@pytest.mark.parametrize(("text", "cause"), BROKEN, ids=[text[:40] for text, _ in BROKEN])
def test_an_error_has_file_and_place(tmp_path: Path, text: str, cause: str) -> None:
    """E02: one error names the file, and the line or field."""
    path = tmp_path / "config"
    path.write_text(text)
    for required in (True, False):
        with pytest.raises(ConfigError) as caught:
            read_kubeconfig(str(path), required=required)
        error = caught.value
        assert error.kind is ConfigProblem.MALFORMED
        assert error.message == f"kubeconfig {path} is not valid"
        assert cause in error.cause
        assert error.path == str(path)
        assert str(path) in error.fix
        if cause.startswith("line "):
            assert error.cause.startswith(f"line {error.line}: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """E02: a path that was given must exist; one that was only looked at need not."""
    path = str(tmp_path / "nowhere")
    with pytest.raises(ConfigError) as caught:
        read_kubeconfig(path)
    assert str(caught.value) == f"kubeconfig {path}: no such file"
    assert caught.value.kind is ConfigProblem.UNREADABLE
    assert read_kubeconfig(path, required=False) == Kubeconfig()


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    """E02: a file that was given must hold something."""
    path = write(tmp_path / "config", text)
    with pytest.raises(ConfigError, match="is empty"):
        read_kubeconfig(path)
    found = read_kubeconfig(path, required=False)
    assert (found.empty, found.files) == (True, (path,))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """E02: a folder, text that is not UTF-8, and a file of megabytes are refused."""
    for required in (True, False):
        with pytest.raises(ConfigError, match="is a directory"):
            read_kubeconfig(str(tmp_path), required=required)
    binary = tmp_path / "binary"
    binary.write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 3\)"):
        read_kubeconfig(str(binary))
    huge = tmp_path / "huge"
    huge.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        read_kubeconfig(str(huge))


@pytest.mark.parametrize("required", [True, False])
def test_a_kubeconfig_that_does_not_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, required: bool
) -> None:
    """A device fills no memory; a pipe without a writer has a deadline, and can be stopped before."""
    with pytest.raises(ConfigError, match="kubeconfig /dev/zero: larger than 1 MiB"):
        read_kubeconfig("/dev/zero", required=required)
    path = str(tmp_path / "fifo")
    os.mkfifo(path)
    stop = threading.Event()
    reading = Background(lambda: read_kubeconfig(path, required=required, stop=stop))
    stop.set()
    with pytest.raises(ConfigError, match=f"kubeconfig {path}: stopped before its end came"):
        reading.result()
    monkeypatch.setattr("handloop.client.auth.kubeconfig.PIPE_SECONDS", 0.1)
    with pytest.raises(ConfigError, match=rf"kubeconfig {path}: it did not end within 0.1 s") as caught:
        read_kubeconfig(path, required=required)
    assert caught.value.kind is ConfigProblem.UNREADABLE
    fix = f"end the program that writes to {path}, or save its output in a file first"
    assert caught.value.fix == fix


def test_the_fix_fits_the_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E02: an unexpanded ~ and a list where one path belongs are recognised."""
    monkeypatch.setenv("HOME", "/home/somebody")
    for path, fix in (
        ("~/.kube/config", "write /home/somebody/.kube/config"),
        ("/a:/b", "a list belongs in $KUBECONFIG"),
        ("/a", "ls -l /a"),
    ):
        with pytest.raises(ConfigError) as caught:
            read_kubeconfig(path)
        assert fix in caught.value.fix


def test_a_bomb_of_aliases_is_no_bomb(tmp_path: Path) -> None:
    """Aliases that multiply are refused before anything walks them: a walk of this one would never end."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    names = string.ascii_lowercase
    for previous, name in itertools.pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{previous}'] * 10)}]")
    lines.append("users: *z")
    with pytest.raises(ConfigError, match=r"users\[0\]: expected a map"):
        read_kubeconfig(write(tmp_path / "bomb", "\n".join(lines)))


def test_nesting_without_end_is_an_error(tmp_path: Path) -> None:
    """A file that no parser can read raises no RecursionError."""
    with pytest.raises(ConfigError):
        read_kubeconfig(write(tmp_path / "deep", "a: " + "[" * 100_000))


def test_the_first_file_wins(tmp_path: Path) -> None:
    """Merging takes whole entries and the current context from the first file that has them."""
    one = write(
        tmp_path / "one" / "config",
        """
        clusters: [{name: shared, cluster: {server: "https://one"}}]
        users: [{name: only-one, user: {token: t}}]
        """,
    )
    two = write(
        tmp_path / "two" / "config",
        """
        current-context: two
        clusters:
        - {name: shared, cluster: {server: "https://two", tls-server-name: two}}
        - {name: only-two, cluster: {server: "https://two", certificate-authority: ca.crt}}
        """,
    )
    three = write(tmp_path / "three" / "config", "current-context: three\n")
    merged = merge(read_kubeconfig(path) for path in (one, two, three))
    assert merged.current_context == "two"
    assert (merged.clusters["shared"].server, merged.clusters["shared"].tls_server_name) == (
        "https://one",
        "",
    )
    assert merged.clusters["only-two"].certificate_authority == str(tmp_path / "two" / "ca.crt")
    assert merged.user_files["only-one"] == one
    texts = {"shared": Path(one).read_text(), "only-two": Path(two).read_text()}
    assert merged.cluster_texts == texts
    assert "only-one" not in repr(merged)
    assert merged.files == (one, two, three)
    assert merge([]).empty


def test_the_raw_cluster_keeps_its_types(tmp_path: Path) -> None:
    """An exec plugin that asks for the cluster gets booleans and extensions as they were written."""
    text = """
    clusters:
    - name: c
      cluster:
        server: https://h
        insecure-skip-tls-verify: true
        extensions:
        - {name: client.authentication.k8s.io/exec, extension: {timeout: 5}}
    """
    path = write(tmp_path / "config", text)
    found = read_kubeconfig(path)
    # without the file: a pipe cannot be read twice
    Path(path).unlink()
    cluster = raw_cluster(found.cluster_texts["c"], "c")
    assert cluster["insecure-skip-tls-verify"] is True
    assert cluster["extensions"][0]["extension"] == {"timeout": 5}
