from __future__ import annotations

from handloop.sandbox.kinds import protobuf
from handloop.sandbox.wire.status import failure, not_acceptable
from handloop.sandbox.wire.status_protobuf import encode

RECORDED = (
    b"k8s\0\n\f\n\x02v1\x12\x06Status\x12\x99\x01\n\x06\n\0\x12\0\x1a\0\x12\x07Failure\x1at"
    b"only the following media types are accepted: "
    b"application/json, application/yaml, application/vnd.kubernetes.protobuf"
    b'"\rNotAcceptable0\x96\x03\x1a\0"\0'
)


def test_a_refusal_as_a_real_server_wrote_it() -> None:
    """Every byte is that of a kube-apiserver, the empty texts too."""
    accepted = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
    assert encode(not_acceptable(accepted).status) == RECORDED


def test_details_and_causes() -> None:
    """What is written can be read again, causes, retry delay and continue token included."""
    causes = [{"reason": "FieldValueInvalid", "message": "too big", "field": "spec.size"}]
    details = {
        "name": "x" * 200,
        "group": "g",
        "kind": "k",
        "causes": causes,
        "retryAfterSeconds": 300,
        "uid": "u",
    }
    status = failure(422, "Invalid", "no", details=details, metadata={"continue": "there"})
    read = protobuf.read_message(encode(status), "apimachinery.pkg.apis.meta.v1.Status")
    assert (read["message"], read["code"], read["metadata"]["continue"]) == ("no", 422, "there")
    assert read["details"] == details
