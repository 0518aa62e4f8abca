"""core/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

import msgspec

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, ObjectMeta
from handloop.kinds.meta_v1 import Condition, LabelSelector


class ConfigMap(Kind, group="", version="v1", short_names=("cm",), partial=False):
    binary_data: FrozenMap = EMPTY_MAP
    data: FrozenMap = EMPTY_MAP
    immutable: bool | None = None


class ObjectReference(APIStruct):
    api_version: str | None = None
    field_path: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None
    uid: str | None = None


class EndpointAddress(APIStruct):
    hostname: str | None = None
    ip: str
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(APIStruct):
    app_protocol: str | None = None
    name: str | None = None
    port: int
    protocol: str | None = None


class EndpointSubset(APIStruct):
    addresses: tuple[EndpointAddress, ...] = ()
    not_ready_addresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(Kind, group="", version="v1", plural="endpoints", short_names=("ep",), partial=False):
    subsets: tuple[EndpointSubset, ...] = ()


class EventSeries(APIStruct):
    count: int | None = None
    last_observed_time: str | None = None


class EventSource(APIStruct):
    component: str | None = None
    host: str | None = None


class Event(Kind, group="", version="v1", short_names=("ev",), partial=False):
    action: str | None = None
    count: int | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    involved_object: ObjectReference
    last_timestamp: str | None = None
    message: str | None = None
    reason: str | None = None
    related: ObjectReference | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    source: EventSource = EventSource()
    type: str | None = None


class LimitRangeItem(APIStruct):
    default: FrozenMap = EMPTY_MAP
    default_request: FrozenMap = EMPTY_MAP
    max: FrozenMap = EMPTY_MAP
    max_limit_request_ratio: FrozenMap = EMPTY_MAP
    min: FrozenMap = EMPTY_MAP
    type: str


class LimitRangeSpec(APIStruct):
    limits: tuple[LimitRangeItem, ...]


class LimitRange(Kind, group="", version="v1", short_names=("limits",), partial=False):
    spec: LimitRangeSpec


class NamespaceSpec(APIStruct):
    finalizers: tuple[str, ...] = ()


class NamespaceCondition(APIStruct):
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class NamespaceStatus(APIStruct):
    conditions: tuple[NamespaceCondition, ...] = ()
    phase: str | None = None


class Namespace(Kind, group="", version="v1", scope="Cluster", short_names=("ns",), partial=False):
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ConfigMapNodeConfigSource(APIStruct):
    kubelet_config_key: str
    name: str
    namespace: str
    resource_version: str | None = None
    uid: str | None = None


class NodeConfigSource(APIStruct):
    config_map: ConfigMapNodeConfigSource | None = None


class Taint(APIStruct):
    effect: str
    key: str
    time_added: str | None = None
    value: str | None = None


class NodeSpec(APIStruct):
    config_source: NodeConfigSource | None = None
    external_id: str | None = None
    pod_cidr: str | None = None
    pod_cidrs: tuple[str, ...] = ()
    provider_id: str | None = None
    taints: tuple[Taint, ...] = ()
    unschedulable: bool | None = None


class NodeAddress(APIStruct):
    address: str
    type: str


class NodeCondition(APIStruct):
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class NodeConfigStatus(APIStruct):
    active: NodeConfigSource | None = None
    assigned: NodeConfigSource | None = None
    error: str | None = None
    last_known_good: NodeConfigSource | None = None


class DaemonEndpoint(APIStruct):
    port: int = msgspec.field(name="Port")


class NodeDaemonEndpoints(APIStruct):
    kubelet_endpoint: DaemonEndpoint | None = None


class NodeFeatures(APIStruct):
    supplemental_groups_policy: bool | None = None


class ContainerImage(APIStruct):
    names: tuple[str, ...] = ()
    size_bytes: int | None = None


class NodeSwapStatus(APIStruct):
    capacity: int | None = None


class NodeSystemInfo(APIStruct):
    architecture: str
    boot_id: str
    container_runtime_version: str
    kernel_version: str
    kube_proxy_version: str
    kubelet_version: str
    machine_id: str
    operating_system: str
    os_image: str
    swap: NodeSwapStatus | None = None
    system_uuid: str


class NodeRuntimeHandlerFeatures(APIStruct):
    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(APIStruct):
    features: NodeRuntimeHandlerFeatures | None = None
    name: str | None = None


class AttachedVolume(APIStruct):
    device_path: str
    name: str


class NodeStatus(APIStruct):
    addresses: tuple[NodeAddress, ...] = ()
    allocatable: FrozenMap = EMPTY_MAP
    capacity: FrozenMap = EMPTY_MAP
    conditions: tuple[NodeCondition, ...] = ()
    config: NodeConfigStatus | None = None
    daemon_endpoints: NodeDaemonEndpoints = NodeDaemonEndpoints()
    declared_features: tuple[str, ...] = ()
    features: NodeFeatures | None = None
    images: tuple[ContainerImage, ...] = ()
    node_info: NodeSystemInfo | None = None
    phase: str | None = None
    runtime_handlers: tuple[NodeRuntimeHandler, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()


class Node(Kind, group="", version="v1", scope="Cluster", short_names=("no",), partial=False):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class TypedLocalObjectReference(APIStruct):
    api_group: str | None = None
    kind: str
    name: str


class TypedObjectReference(APIStruct):
    api_group: str | None = None
    kind: str
    name: str
    namespace: str | None = None


class VolumeResourceRequirements(APIStruct):
    limits: FrozenMap = EMPTY_MAP
    requests: FrozenMap = EMPTY_MAP


class PersistentVolumeClaimSpec(APIStruct):
    access_modes: tuple[str, ...] = ()
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None


class PersistentVolumeClaimCondition(APIStruct):
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class ModifyVolumeStatus(APIStruct):
    status: str
    target_volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(APIStruct):
    access_modes: tuple[str, ...] = ()
    allocated_resource_statuses: FrozenMap = EMPTY_MAP
    allocated_resources: FrozenMap = EMPTY_MAP
    capacity: FrozenMap = EMPTY_MAP
    conditions: tuple[PersistentVolumeClaimCondition, ...] = ()
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None
    phase: str | None = None


class PersistentVolumeClaim(Kind, group="", version="v1", short_names=("pvc",), partial=False):
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class AWSElasticBlockStoreVolumeSource(APIStruct):
    fs_type: str | None = None
    partition: int | None = None
    read_only: bool | None = None
    volume_id: str


class AzureDiskVolumeSource(APIStruct):
    caching_mode: str | None = None
    disk_name: str
    disk_uri: str
    fs_type: str | None = None
    kind: str | None = None
    read_only: bool | None = None


class AzureFilePersistentVolumeSource(APIStruct):
    read_only: bool | None = None
    secret_name: str
    secret_namespace: str | None = None
    share_name: str


class SecretReference(APIStruct):
    name: str | None = None
    namespace: str | None = None


class CephFSPersistentVolumeSource(APIStruct):
    monitors: tuple[str, ...]
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None


class CinderPersistentVolumeSource(APIStruct):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    volume_id: str


class CSIPersistentVolumeSource(APIStruct):
    controller_expand_secret_ref: SecretReference | None = None
    controller_publish_secret_ref: SecretReference | None = None
    driver: str
    fs_type: str | None = None
    node_expand_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    read_only: bool | None = None
    volume_attributes: FrozenMap = EMPTY_MAP
    volume_handle: str


class FCVolumeSource(APIStruct):
    fs_type: str | None = None
    lun: int | None = None
    read_only: bool | None = None
    target_wwns: tuple[str, ...] = ()
    wwids: tuple[str, ...] = ()


class FlexPersistentVolumeSource(APIStruct):
    driver: str
    fs_type: str | None = None
    options: FrozenMap = EMPTY_MAP
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class FlockerVolumeSource(APIStruct):
    dataset_name: str | None = None
    dataset_uuid: str | None = None


class GCEPersistentDiskVolumeSource(APIStruct):
    fs_type: str | None = None
    partition: int | None = None
    pd_name: str
    read_only: bool | None = None


class GlusterfsPersistentVolumeSource(APIStruct):
    endpoints: str
    endpoints_namespace: str | None = None
    path: str
    read_only: bool | None = None


class HostPathVolumeSource(APIStruct):
    path: str
    type: str | None = None


class ISCSIPersistentVolumeSource(APIStruct):
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str
    iscsi_interface: str | None = None
    lun: int
    portals: tuple[str, ...] = ()
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    target_portal: str


class LocalVolumeSource(APIStruct):
    fs_type: str | None = None
    path: str


class NFSVolumeSource(APIStruct):
    path: str
    read_only: bool | None = None
    server: str


class NodeSelectorRequirement(APIStruct):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(APIStruct):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(APIStruct):
    node_selector_terms: tuple[NodeSelectorTerm, ...]


class VolumeNodeAffinity(APIStruct):
    required: NodeSelector | None = None


class PhotonPersistentDiskVolumeSource(APIStruct):
    fs_type: str | None = None
    pd_id: str


class PortworxVolumeSource(APIStruct):
    fs_type: str | None = None
    read_only: bool | None = None
    volume_id: str


class QuobyteVolumeSource(APIStruct):
    group: str | None = None
    read_only: bool | None = None
    registry: str
    tenant: str | None = None
    user: str | None = None
    volume: str


class RBDPersistentVolumeSource(APIStruct):
    fs_type: str | None = None
    image: str
    keyring: str | None = None
    monitors: tuple[str, ...]
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None


class ScaleIOPersistentVolumeSource(APIStruct):
    fs_type: str | None = None
    gateway: str
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str
    volume_name: str | None = None


class StorageOSPersistentVolumeSource(APIStruct):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: ObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class VsphereVirtualDiskVolumeSource(APIStruct):
    fs_type: str | None = None
    storage_policy_id: str | None = None
    storage_policy_name: str | None = None
    volume_path: str


class PersistentVolumeSpec(APIStruct):
    access_modes: tuple[str, ...] = ()
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    capacity: FrozenMap = EMPTY_MAP
    cephfs: CephFSPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    claim_ref: ObjectReference | None = None
    csi: CSIPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    mount_options: tuple[str, ...] = ()
    nfs: NFSVolumeSource | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    scale_io: ScaleIOPersistentVolumeSource | None = msgspec.field(default=None, name="scaleIO")
    storage_class_name: str | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(APIStruct):
    last_phase_transition_time: str | None = None
    message: str | None = None
    phase: str | None = None
    reason: str | None = None


class PersistentVolume(Kind, group="", version="v1", scope="Cluster", short_names=("pv",), partial=False):
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PreferredSchedulingTerm(APIStruct):
    preference: NodeSelectorTerm
    weight: int


class NodeAffinity(APIStruct):
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(APIStruct):
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str


class WeightedPodAffinityTerm(APIStruct):
    pod_affinity_term: PodAffinityTerm
    weight: int


class PodAffinity(APIStruct):
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class PodAntiAffinity(APIStruct):
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class Affinity(APIStruct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class ConfigMapKeySelector(APIStruct):
    key: str
    name: str | None = None
    optional: bool | None = None


class ObjectFieldSelector(APIStruct):
    api_version: str | None = None
    field_path: str


class FileKeySelector(APIStruct):
    key: str
    optional: bool | None = None
    path: str
    volume_name: str


class ResourceFieldSelector(APIStruct):
    container_name: str | None = None
    divisor: str | None = None
    resource: str


class SecretKeySelector(APIStruct):
    key: str
    name: str | None = None
    optional: bool | None = None


class EnvVarSource(APIStruct):
    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EnvVar(APIStruct):
    name: str
    value: str | None = None
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(APIStruct):
    name: str | None = None
    optional: bool | None = None


class SecretEnvSource(APIStruct):
    name: str | None = None
    optional: bool | None = None


class EnvFromSource(APIStruct):
    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str | None = None
    secret_ref: SecretEnvSource | None = None


class ExecAction(APIStruct):
    command: tuple[str, ...] = ()


class HTTPHeader(APIStruct):
    name: str
    value: str


class HTTPGetAction(APIStruct):
    host: str | None = None
    http_headers: tuple[HTTPHeader, ...] = ()
    path: str | None = None
    port: int | str
    scheme: str | None = None


class SleepAction(APIStruct):
    seconds: int


class TCPSocketAction(APIStruct):
    host: str | None = None
    port: int | str


class LifecycleHandler(APIStruct):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class Lifecycle(APIStruct):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class GRPCAction(APIStruct):
    port: int
    service: str | None = None


class Probe(APIStruct):
    exec: ExecAction | None = None
    failure_threshold: int | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: int | None = None
    timeout_seconds: int | None = None


class ContainerPort(APIStruct):
    container_port: int
    host_ip: str | None = None
    host_port: int | None = None
    name: str | None = None
    protocol: str | None = None


class ContainerResizePolicy(APIStruct):
    resource_name: str
    restart_policy: str


class ResourceClaim(APIStruct):
    name: str
    request: str | None = None


class ResourceRequirements(APIStruct):
    claims: tuple[ResourceClaim, ...] = ()
    limits: FrozenMap = EMPTY_MAP
    requests: FrozenMap = EMPTY_MAP


class ContainerRestartRuleOnExitCodes(APIStruct):
    operator: str
    values: tuple[int, ...] = ()


class ContainerRestartRule(APIStruct):
    action: str
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class AppArmorProfile(APIStruct):
    localhost_profile: str | None = None
    type: str


class Capabilities(APIStruct):
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SELinuxOptions(APIStruct):
    level: str | None = None
    role: str | None = None
    type: str | None = None
    user: str | None = None


class SeccompProfile(APIStruct):
    localhost_profile: str | None = None
    type: str


class WindowsSecurityContextOptions(APIStruct):
    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None


class SecurityContext(APIStruct):
    allow_privilege_escalation: bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    proc_mount: str | None = None
    read_only_root_filesystem: bool | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class VolumeDevice(APIStruct):
    device_path: str
    name: str


class VolumeMount(APIStruct):
    mount_path: str
    mount_propagation: str | None = None
    name: str
    read_only: bool | None = None
    recursive_read_only: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class Container(APIStruct):
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str | None = None
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str
    ports: tuple[ContainerPort, ...] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: tuple[VolumeDevice, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    working_dir: str | None = None


class PodDNSConfigOption(APIStruct):
    name: str | None = None
    value: str | None = None


class PodDNSConfig(APIStruct):
    nameservers: tuple[str, ...] = ()
    options: tuple[PodDNSConfigOption, ...] = ()
    searches: tuple[str, ...] = ()


class EphemeralContainer(APIStruct):
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str | None = None
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str
    ports: tuple[ContainerPort, ...] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    target_container_name: str | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: tuple[VolumeDevice, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    working_dir: str | None = None


class HostAlias(APIStruct):
    hostnames: tuple[str, ...] = ()
    ip: str


class LocalObjectReference(APIStruct):
    name: str | None = None


class PodOS(APIStruct):
    name: str


class PodReadinessGate(APIStruct):
    condition_type: str


class PodResourceClaim(APIStruct):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGate(APIStruct):
    name: str


class PodSchedulingGroup(APIStruct):
    pod_group_name: str | None = None


class Sysctl(APIStruct):
    name: str
    value: str


class PodSecurityContext(APIStruct):
    app_armor_profile: AppArmorProfile | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str | None = None
    sysctls: tuple[Sysctl, ...] = ()
    windows_options: WindowsSecurityContextOptions | None = None


class Toleration(APIStruct):
    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None


class TopologySpreadConstraint(APIStruct):
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    max_skew: int
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    topology_key: str
    when_unsatisfiable: str


class AzureFileVolumeSource(APIStruct):
    read_only: bool | None = None
    secret_name: str
    share_name: str


class CephFSVolumeSource(APIStruct):
    monitors: tuple[str, ...]
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class CinderVolumeSource(APIStruct):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_id: str


class KeyToPath(APIStruct):
    key: str
    mode: int | None = None
    path: str


class ConfigMapVolumeSource(APIStruct):
    default_mode: int | None = None
    items: tuple[KeyToPath, ...] = ()
    name: str | None = None
    optional: bool | None = None


class CSIVolumeSource(APIStruct):
    driver: str
    fs_type: str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: FrozenMap = EMPTY_MAP


class DownwardAPIVolumeFile(APIStruct):
    field_ref: ObjectFieldSelector | None = None
    mode: int | None = None
    path: str
    resource_field_ref: ResourceFieldSelector | None = None


class DownwardAPIVolumeSource(APIStruct):
    default_mode: int | None = None
    items: tuple[DownwardAPIVolumeFile, ...] = ()


class EmptyDirVolumeSource(APIStruct):
    medium: str | None = None
    size_limit: str | None = None


class PersistentVolumeClaimTemplate(APIStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec


class EphemeralVolumeSource(APIStruct):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class FlexVolumeSource(APIStruct):
    driver: str
    fs_type: str | None = None
    options: FrozenMap = EMPTY_MAP
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class GitRepoVolumeSource(APIStruct):
    directory: str | None = None
    repository: str
    revision: str | None = None


class GlusterfsVolumeSource(APIStruct):
    endpoints: str
    path: str
    read_only: bool | None = None


class ImageVolumeSource(APIStruct):
    pull_policy: str | None = None
    reference: str | None = None


class ISCSIVolumeSource(APIStruct):
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str
    iscsi_interface: str | None = None
    lun: int
    portals: tuple[str, ...] = ()
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    target_portal: str


class PersistentVolumeClaimVolumeSource(APIStruct):
    claim_name: str
    read_only: bool | None = None


class ClusterTrustBundleProjection(APIStruct):
    label_selector: LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    path: str
    signer_name: str | None = None


class ConfigMapProjection(APIStruct):
    items: tuple[KeyToPath, ...] = ()
    name: str | None = None
    optional: bool | None = None


class DownwardAPIProjection(APIStruct):
    items: tuple[DownwardAPIVolumeFile, ...] = ()


class PodCertificateProjection(APIStruct):
    certificate_chain_path: str | None = None
    credential_bundle_path: str | None = None
    key_path: str | None = None
    key_type: str
    max_expiration_seconds: int | None = None
    signer_name: str
    user_annotations: FrozenMap = EMPTY_MAP


class SecretProjection(APIStruct):
    items: tuple[KeyToPath, ...] = ()
    name: str | None = None
    optional: bool | None = None


class ServiceAccountTokenProjection(APIStruct):
    audience: str | None = None
    expiration_seconds: int | None = None
    path: str


class VolumeProjection(APIStruct):
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: DownwardAPIProjection | None = None
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class ProjectedVolumeSource(APIStruct):
    default_mode: int | None = None
    sources: tuple[VolumeProjection, ...] = ()


class RBDVolumeSource(APIStruct):
    fs_type: str | None = None
    image: str
    keyring: str | None = None
    monitors: tuple[str, ...]
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class ScaleIOVolumeSource(APIStruct):
    fs_type: str | None = None
    gateway: str
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str
    volume_name: str | None = None


class SecretVolumeSource(APIStruct):
    default_mode: int | None = None
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None
    secret_name: str | None = None


class StorageOSVolumeSource(APIStruct):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class Volume(APIStruct):
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    name: str
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = msgspec.field(default=None, name="scaleIO")
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PodSpec(APIStruct):
    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None
    automount_service_account_token: bool | None = None
    containers: tuple[Container, ...]
    dns_config: PodDNSConfig | None = None
    dns_policy: str | None = None
    enable_service_links: bool | None = None
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    host_aliases: tuple[HostAlias, ...] = ()
    host_ipc: bool | None = None
    host_network: bool | None = None
    host_pid: bool | None = None
    host_users: bool | None = None
    hostname: str | None = None
    hostname_override: str | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str | None = None
    node_selector: FrozenMap = EMPTY_MAP
    os: PodOS | None = None
    overhead: FrozenMap = EMPTY_MAP
    preemption_policy: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    runtime_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    security_context: PodSecurityContext | None = None
    service_account: str | None = None
    service_account_name: str | None = None
    set_hostname_as_fqdn: bool | None = None
    share_process_namespace: bool | None = None
    subdomain: str | None = None
    termination_grace_period_seconds: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()


class PodCondition(APIStruct):
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None
    status: str
    type: str


class ResourceHealth(APIStruct):
    health: str | None = None
    message: str | None = None
    resource_id: str


class ResourceStatus(APIStruct):
    name: str
    resources: tuple[ResourceHealth, ...] = ()


class ContainerStateRunning(APIStruct):
    started_at: str | None = None


class ContainerStateTerminated(APIStruct):
    container_id: str | None = None
    exit_code: int
    finished_at: str | None = None
    message: str | None = None
    reason: str | None = None
    signal: int | None = None
    started_at: str | None = None


class ContainerStateWaiting(APIStruct):
    message: str | None = None
    reason: str | None = None


class ContainerState(APIStruct):
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class LinuxContainerUser(APIStruct):
    gid: int
    supplemental_groups: tuple[int, ...] = ()
    uid: int


class ContainerUser(APIStruct):
    linux: LinuxContainerUser | None = None


class ImageVolumeStatus(APIStruct):
    image_ref: str


class VolumeStatus(APIStruct):
    image: ImageVolumeStatus | None = None


class VolumeMountStatus(APIStruct):
    mount_path: str
    name: str
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class ContainerStatus(APIStruct):
    allocated_resources: FrozenMap = EMPTY_MAP
    allocated_resources_status: tuple[ResourceStatus, ...] = ()
    container_id: str | None = None
    image: str
    image_id: str
    last_state: ContainerState = ContainerState()
    name: str
    ready: bool
    resources: ResourceRequirements | None = None
    restart_count: int
    started: bool | None = None
    state: ContainerState = ContainerState()
    stop_signal: str | None = None
    user: ContainerUser | None = None
    volume_mounts: tuple[VolumeMountStatus, ...] = ()


class ContainerExtendedResourceRequest(APIStruct):
    container_name: str
    request_name: str
    resource_name: str


class PodExtendedResourceClaimStatus(APIStruct):
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str


class HostIP(APIStruct):
    ip: str


class NodeAllocatableResourceClaimStatus(APIStruct):
    containers: tuple[str, ...] = ()
    resource_claim_name: str
    resources: FrozenMap


class PodIP(APIStruct):
    ip: str


class PodResourceClaimStatus(APIStruct):
    name: str
    resource_claim_name: str | None = None


class PodStatus(APIStruct):
    allocated_resources: FrozenMap = EMPTY_MAP
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    host_ip: str | None = None
    host_ips: tuple[HostIP, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    message: str | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    nominated_node_name: str | None = None
    observed_generation: int | None = None
    phase: str | None = None
    pod_ip: str | None = None
    pod_ips: tuple[PodIP, ...] = ()
    qos_class: str | None = None
    reason: str | None = None
    resize: str | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    resources: ResourceRequirements | None = None
    start_time: str | None = None


class Pod(Kind, group="", version="v1", short_names=("po",), partial=False):
    spec: PodSpec
    status: PodStatus = PodStatus()


class PodTemplateSpec(APIStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec


class PodTemplate(Kind, group="", version="v1", partial=False):
    template: PodTemplateSpec | None = None


class ReplicationControllerSpec(APIStruct):
    min_ready_seconds: int | None = None
    replicas: int | None = None
    selector: FrozenMap = EMPTY_MAP
    template: PodTemplateSpec | None = None


class ReplicationControllerCondition(APIStruct):
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class ReplicationControllerStatus(APIStruct):
    available_replicas: int | None = None
    conditions: tuple[ReplicationControllerCondition, ...] = ()
    fully_labeled_replicas: int | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int


class ReplicationController(Kind, group="", version="v1", short_names=("rc",), partial=False):
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicationControllerStatus | None = None


class ScopedResourceSelectorRequirement(APIStruct):
    operator: str
    scope_name: str
    values: tuple[str, ...] = ()


class ScopeSelector(APIStruct):
    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(APIStruct):
    hard: FrozenMap = EMPTY_MAP
    scope_selector: ScopeSelector | None = None
    scopes: tuple[str, ...] = ()


class ResourceQuotaStatus(APIStruct):
    hard: FrozenMap = EMPTY_MAP
    used: FrozenMap = EMPTY_MAP


class ResourceQuota(Kind, group="", version="v1", short_names=("quota",), partial=False):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class Secret(Kind, group="", version="v1", partial=False):
    data: FrozenMap = EMPTY_MAP
    immutable: bool | None = None
    string_data: FrozenMap = EMPTY_MAP
    type: str | None = None


class ServiceAccount(Kind, group="", version="v1", short_names=("sa",), partial=False):
    automount_service_account_token: bool | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    secrets: tuple[ObjectReference, ...] = ()


class ServicePort(APIStruct):
    app_protocol: str | None = None
    name: str | None = None
    node_port: int | None = None
    port: int
    protocol: str | None = None
    target_port: int | str | None = None


class ClientIPConfig(APIStruct):
    timeout_seconds: int | None = None


class SessionAffinityConfig(APIStruct):
    client_ip: ClientIPConfig | None = None


class ServiceSpec(APIStruct):
    allocate_load_balancer_node_ports: bool | None = None
    cluster_ip: str | None = None
    cluster_ips: tuple[str, ...] = ()
    external_ips: tuple[str, ...] = ()
    external_name: str | None = None
    external_traffic_policy: str | None = None
    health_check_node_port: int | None = None
    internal_traffic_policy: str | None = None
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    load_balancer_class: str | None = None
    load_balancer_ip: str | None = None
    load_balancer_source_ranges: tuple[str, ...] = ()
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool | None = None
    selector: FrozenMap = EMPTY_MAP
    session_affinity: str | None = None
    session_affinity_config: SessionAffinityConfig | None = None
    traffic_distribution: str | None = None
    type: str | None = None


class PortStatus(APIStruct):
    error: str | None = None
    port: int
    protocol: str


class LoadBalancerIngress(APIStruct):
    hostname: str | None = None
    ip: str | None = None
    ip_mode: str | None = None
    ports: tuple[PortStatus, ...] = ()


class LoadBalancerStatus(APIStruct):
    ingress: tuple[LoadBalancerIngress, ...] = ()


class ServiceStatus(APIStruct):
    conditions: tuple[Condition, ...] = ()
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Service(Kind, group="", version="v1", short_names=("svc",), partial=False):
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class TopologySelectorLabelRequirement(APIStruct):
    key: str
    values: tuple[str, ...]


class TopologySelectorTerm(APIStruct):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()
