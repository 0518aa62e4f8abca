"""The samples as a server completes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import jsonpatch

from handloop_sandbox.kinds.typed import Report, decode
from handloop_sandbox.verbs import object_rules
from support.builders.builtin import builtin_kind
from support.builders.kind_samples import SAMPLES, sample, sample_id
from support.recorded.patch_cases import settled
from support.servers.real_server import RealServer, collection

Object = dict[str, Any]

_ADMITTED: Final = re.compile(
    r"/metadata/(uid|creationTimestamp|namespace|name)"
    r"|Pod /(spec/(volumes|(initC|c)ontainers/\d+/volumeMounts|tolerations|preemptionPolicy|priority"
    r"|serviceAccount(Name)?)(/\d+|$).*)"
    r"|Service /spec/(clusterIPs?|ipFamilies|ipFamilyPolicy|ports/\d+/nodePort)"
    r"|PersistentVolume(Claim)? /metadata/finalizers"
    r"|Namespace /spec(/finalizers)?"
    r"|Node /spec(/taints)?"
    r"|DaemonSet /metadata/annotations(/.*)?"
    r"|Job /(metadata/labels(/.*)?|spec/selector|spec/template/metadata(/labels.*)?)"
)
"""Fields that are no defaults: admission, allocation, and the strategy of a kind add them."""


def ask(server: RealServer) -> Iterator[Object]:
    """For each sample what a server adds to it, as a JSON patch."""
    for found in SAMPLES:
        path = collection(builtin_kind(found["apiVersion"], found["kind"]))
        answer = server.request("POST", f"{path}?dryRun=All&fieldManager=m", found)
        assert answer.status == 201, answer
        change = list(jsonpatch.make_patch(found, settled(answer.json())))
        yield {"sample": sample_id(found), "change": change}


def check(line: Object) -> None:
    """The sandbox adds the same, but for fields that are no defaults."""
    found = sample(line["sample"])
    resource = builtin_kind(found["apiVersion"], found["kind"])
    mine = settled(object_rules.defaulted(resource, decode(resource.schema or {}, found, Report())))
    theirs = jsonpatch.apply_patch(found, line["change"])
    missing = [
        change
        for change in jsonpatch.make_patch(mine, theirs)
        if not _ADMITTED.fullmatch(change["path"])
        and not _ADMITTED.fullmatch(f"{resource.kind} {change['path']}")
    ]
    assert not missing, line["sample"]
