"""storage.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.kinds.core_v1 import PersistentVolumeSpec, TopologySelectorTerm
from handloop.kinds.meta_v1 import LabelSelector


class TokenRequest(APIStruct):
    audience: str
    expiration_seconds: int | None = None


class CSIDriverSpec(APIStruct):
    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: int | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: tuple[TokenRequest, ...] = ()
    volume_lifecycle_modes: tuple[str, ...] = ()


class CSIDriver(Kind, group="storage.k8s.io", version="v1", scope="Cluster", partial=False):
    spec: CSIDriverSpec


class VolumeNodeResources(APIStruct):
    count: int | None = None


class CSINodeDriver(APIStruct):
    allocatable: VolumeNodeResources | None = None
    name: str
    node_id: str
    topology_keys: tuple[str, ...] = ()


class CSINodeSpec(APIStruct):
    drivers: tuple[CSINodeDriver, ...]


class CSINode(Kind, group="storage.k8s.io", version="v1", scope="Cluster", partial=False):
    spec: CSINodeSpec


class CSIStorageCapacity(Kind, group="storage.k8s.io", version="v1", partial=False):
    capacity: str | None = None
    maximum_volume_size: str | None = None
    node_topology: LabelSelector | None = None
    storage_class_name: str


class StorageClass(
    Kind, group="storage.k8s.io", version="v1", scope="Cluster", short_names=("sc",), partial=False
):
    allow_volume_expansion: bool | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    mount_options: tuple[str, ...] = ()
    parameters: FrozenMap = EMPTY_MAP
    provisioner: str
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None


class VolumeAttachmentSource(APIStruct):
    inline_volume_spec: PersistentVolumeSpec | None = None
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(APIStruct):
    attacher: str
    node_name: str
    source: VolumeAttachmentSource


class VolumeError(APIStruct):
    error_code: int | None = None
    message: str | None = None
    time: str | None = None


class VolumeAttachmentStatus(APIStruct):
    attach_error: VolumeError | None = None
    attached: bool
    attachment_metadata: FrozenMap = EMPTY_MAP
    detach_error: VolumeError | None = None


class VolumeAttachment(Kind, group="storage.k8s.io", version="v1", scope="Cluster", partial=False):
    spec: VolumeAttachmentSpec
    status: VolumeAttachmentStatus | None = None


class VolumeAttributesClass(
    Kind, group="storage.k8s.io", version="v1", scope="Cluster", short_names=("vac",), partial=False
):
    driver_name: str
    parameters: FrozenMap = EMPTY_MAP
