"""Operators with one usual mistake each, and the same ones without it."""

from __future__ import annotations

import itertools
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from handloop import (
    AlreadyExists,
    APIStruct,
    Conflict,
    Context,
    FrozenMap,
    GenerationChanged,
    Kind,
    Manager,
    NotFound,
    ObjectMeta,
    add_finalizer,
    controller_for,
    evolve,
    is_being_deleted,
    is_controlled_by,
    object_name,
    remove_finalizer,
    secret_data,
    with_controller,
    with_owner,
)
from handloop.kinds.apps_v1 import Deployment, DeploymentSpec
from handloop.kinds.batch_v1 import Job, JobSpec
from handloop.kinds.core_v1 import (
    ConfigMap,
    Container,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
)
from handloop.kinds.meta_v1 import LabelSelector
from handloop_explore import Step, Workload, applied, changed, deleted, settled

CHILDREN: Final[tuple[type[Kind], ...]] = (ConfigMap, Secret, Service, Deployment, Job, Pod)
FINALIZER: Final = "example.org/shop"
LIST: Final = "kube-public"


class ShopSpec(APIStruct):
    text: str = "Hello"
    page: str = "page"
    theme: str = ""
    replicas: int = 1


class ShopStatus(APIStruct):
    phase: str = ""
    count: int = 0
    observed_generation: int = 0


class Shop(Kind, group="example.org", version="v1"):
    spec: ShopSpec = ShopSpec()
    status: ShopStatus = ShopStatus()


Reconcile = Callable[[Shop, Context], None]
SHOP: Final[dict[str, Any]] = {
    "apiVersion": "example.org/v1",
    "kind": "Shop",
    "metadata": {"name": "a"},
    "spec": {"text": "Hello", "page": "page", "replicas": 1},
}
THEME: Final = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "blue"},
    "data": {"colour": "blue"},
}
OTHER: Final = changed(SHOP, {"spec": {"text": "Bye", "page": "other"}})
LIFE: Final = (applied(SHOP), settled(), OTHER, settled(), deleted(SHOP))
PLAIN: Final = (applied(SHOP), settled(), deleted(SHOP))
THEMED: Final = (
    applied({**SHOP, "spec": {"theme": "blue"}}),
    settled(),
    applied(THEME),
    settled(),
    changed(THEME, {"data": {"colour": "navy"}}),
    settled(),
)


class Planted(NamedTuple):
    """
    An operator with a mistake, and one without it, for the same story.

    Fields: words = what is said of the mistake, as a part of a verdict; wrong and right make a reconciler for
    each process; owns = the kinds that it owns, or each with a predicate, or with the names that it watches
    it for; wrong_owns, if that is the mistake.
    """

    words: str
    wrong: Callable[[], Reconcile]
    right: Callable[[], Reconcile]
    owns: Sequence[Any] = (ConfigMap,)
    wrong_owns: Sequence[Any] | None = None
    story: Sequence[Step] = LIFE

    def workload(self, *, is_wrong: bool) -> Workload:
        """The story of one of the two."""
        owns = self.wrong_owns if is_wrong and self.wrong_owns is not None else self.owns

        def set_up(manager: Manager) -> None:
            builder = controller_for(manager, "shops").for_(Shop)
            for one in owns:
                if not isinstance(one, tuple):
                    builder.owns(one)
                elif isinstance(one[1], GenerationChanged):
                    builder.owns(one[0], predicates=[one[1]])
                else:
                    builder.watches(*one)
            for kind in CHILDREN:
                builder.writes(kind, "create", "update", "patch", "delete")
            builder.writes(Shop, "update", subresource="status").writes(Shop, "patch")
            builder.complete((self.wrong if is_wrong else self.right)())

        return Workload(set_up, self.story, settle_seconds=180)


def metadata(shop: Shop, name: str = "", **labels: str) -> ObjectMeta:
    return ObjectMeta(
        name=name or shop.metadata.name, namespace=shop.metadata.namespace, labels=FrozenMap(labels)
    )


def page(shop: Shop, name: str = "") -> ConfigMap:
    return ConfigMap(metadata=metadata(shop, name), data=FrozenMap({"text": shop.spec.text}))


def job(shop: Shop, name: str) -> Job:
    pod = PodSpec(containers=(Container(name="job", image="busybox"),), restart_policy="Never")
    return Job(metadata=metadata(shop, name), spec=JobSpec(template=PodTemplateSpec(spec=pod)))


def deployment(shop: Shop) -> Deployment:
    labels = FrozenMap({"app": shop.metadata.name})
    pod = PodSpec(containers=(Container(name="shop", image="nginx"),))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod)
    spec = DeploymentSpec(
        replicas=shop.spec.replicas, selector=LabelSelector(match_labels=labels), template=template
    )
    return Deployment(metadata=metadata(shop), spec=spec)


def service(shop: Shop) -> Service:
    return Service(metadata=metadata(shop), spec=ServiceSpec(ports=(ServicePort(port=80),)))


def password(shop: Shop, name: str = "") -> Secret:
    return Secret(metadata=metadata(shop, name), data=secret_data({"password": secrets.token_urlsafe()}))


def cached(kind: type[Any], shop: Shop, context: Context) -> Any:
    return context.lister_for(kind).get(object_name(shop))


def children(kind: type[Any], shop: Shop, context: Context) -> list[Any]:
    found = context.lister_for(kind).list(namespace=shop.metadata.namespace)
    return [one for one in found if is_controlled_by(one, shop)]


def create(obj: Any, shop: Shop, context: Context) -> None:
    context.client.resource(type(obj)).create(with_controller(obj, shop))


def always(reconcile: Reconcile) -> Callable[[], Reconcile]:
    """A reconciler that is a function."""
    return lambda: reconcile


# what is right for many


def keeps_page(shop: Shop, context: Context) -> None:
    context.apply(page(shop), owner=shop)


def keeps_deployment_and_service(shop: Shop, context: Context) -> None:
    context.apply(deployment(shop), owner=shop)
    context.apply(service(shop), owner=shop)


def tells_of_deployment(shop: Shop, context: Context) -> None:
    found = context.apply(deployment(shop), owner=shop)
    ready = (found.status.available_replicas or 0) >= shop.spec.replicas
    context.update_status(shop, ShopStatus(phase="Ready" if ready else "Waiting"))


def one_job_a_generation(shop: Shop, context: Context) -> None:
    context.apply(job(shop, f"{shop.metadata.name}-{shop.metadata.generation}"), owner=shop)


def makes_password(shop: Shop, context: Context) -> None:
    if cached(Secret, shop, context) is None:
        create(password(shop), shop, context)


# a map that the process keeps


class Made:
    """Remembers what it has made, and forgets that it may be lost."""

    def __init__(self) -> None:
        self.made: set[tuple[str, int]] = set()

    def reconcile(self, shop: Shop, context: Context) -> None:
        made = (shop.metadata.uid, shop.metadata.generation)
        if made not in self.made:
            context.apply(page(shop), owner=shop)
            self.made.add(made)


MADE: Final[dict[str, int]] = {}


def made_by_module(shop: Shop, context: Context) -> None:
    if MADE.get(shop.metadata.uid) != shop.metadata.generation:
        context.apply(page(shop), owner=shop)
        MADE[shop.metadata.uid] = shop.metadata.generation


class Hashes:
    """Writes where what it wants is another, and not where what is there is."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}

    def reconcile(self, shop: Shop, context: Context) -> None:
        wanted = page(shop)
        if self.written.get(shop.metadata.uid) != str(wanted.data):
            context.apply(wanted, owner=shop)
            self.written[shop.metadata.uid] = str(wanted.data)


class Patient:
    """Looks once an hour, by a clock in the process."""

    def __init__(self) -> None:
        self.looked: dict[tuple[str, int], float] = {}

    def reconcile(self, shop: Shop, context: Context) -> None:
        seen = (shop.metadata.uid, shop.metadata.generation)
        if time.monotonic() - self.looked.get(seen, -3600) >= 3600:
            context.apply(page(shop), owner=shop)
            self.looked[seen] = time.monotonic()


# names, and what is generated


def job_of_the_second(shop: Shop, context: Context) -> None:
    if len(children(Job, shop, context)) < shop.metadata.generation:
        context.apply(job(shop, f"{shop.metadata.name}-{int(time.time())}"), owner=shop)


def job_by_chance(shop: Shop, context: Context) -> None:
    if not children(Job, shop, context):
        create(job(shop, f"{shop.metadata.name}-{uuid.uuid4()}"), shop, context)


def job_of_the_object(shop: Shop, context: Context) -> None:
    if not children(Job, shop, context):
        with suppress(AlreadyExists):
            create(job(shop, f"{shop.metadata.name}-{shop.metadata.uid}"), shop, context)


class Counted:
    """Names what it makes by a counter of the process."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    def reconcile(self, shop: Shop, context: Context) -> None:
        if not children(ConfigMap, shop, context):
            create(page(shop, f"{shop.metadata.name}-{next(self.numbers)}"), shop, context)


def page_without_a_name(shop: Shop, context: Context) -> None:
    if not children(ConfigMap, shop, context):
        made = evolve(page(shop), "metadata.name", "")
        create(evolve(made, "metadata.generate_name", f"{shop.metadata.name}-"), shop, context)


def once_by_name(shop: Shop, context: Context) -> None:
    if not children(ConfigMap, shop, context):
        create(page(shop), shop, context)


def pods_without_a_name(shop: Shop, context: Context) -> None:
    """As many as are wanted, and no more."""
    pods = sorted(children(Pod, shop, context), key=lambda pod: pod.metadata.name)
    for _ in range(shop.spec.replicas + 1 - len(pods)):
        named = ObjectMeta(generate_name=f"{shop.metadata.name}-", namespace=shop.metadata.namespace)
        create(Pod(metadata=named, spec=PodSpec(containers=(Container(name="a", image="a"),))), shop, context)
    for pod in pods[shop.spec.replicas + 1 :]:
        with suppress(NotFound):
            context.client.resource(Pod).delete(pod.metadata.name, namespace=pod.metadata.namespace)


def applies_password(shop: Shop, context: Context) -> None:
    if cached(Secret, shop, context) is None:
        context.apply(password(shop), owner=shop)


def passwords_together(shop: Shop, context: Context) -> None:
    if cached(Secret, shop, context) is None:
        create(password(shop), shop, context)
        create(password(shop, f"{shop.metadata.name}-client"), shop, context)


def each_password(shop: Shop, context: Context) -> None:
    for name in (shop.metadata.name, f"{shop.metadata.name}-client"):
        if not any(one.metadata.name == name for one in children(Secret, shop, context)):
            create(password(shop, name), shop, context)


class Stamped:
    """Writes when its process began into what the pods are made of."""

    def __init__(self) -> None:
        self.began = f"{time.time():.0f}"

    def reconcile(self, shop: Shop, context: Context) -> None:
        annotations = FrozenMap({"example.org/began": self.began})
        stamped = evolve(deployment(shop), "spec.template.metadata.annotations", annotations)
        context.apply(stamped, owner=shop)


# finalizers


def entry(shop: Shop) -> ConfigMap:
    name = ObjectMeta(
        name=f"{shop.metadata.namespace}-{shop.metadata.name}",
        namespace=LIST,
        labels=FrozenMap({"shop": shop.metadata.uid}),
    )
    return ConfigMap(metadata=name)


def enlists(shop: Shop, context: Context) -> None:
    with suppress(AlreadyExists):
        context.client.resource(ConfigMap).create(entry(shop))


def strikes_off(shop: Shop, context: Context) -> None:
    """It is there no more, or another's."""
    maps, name = context.client.resource(ConfigMap), entry(shop).metadata.name
    with suppress(NotFound):
        if maps.get(name, namespace=LIST).metadata.labels.get("shop") == shop.metadata.uid:
            maps.delete(name, namespace=LIST)


def leaves(shop: Shop, context: Context) -> None:
    strikes_off(shop, context)
    remove_finalizer(context.client.resource(Shop), shop, FINALIZER)


def listed(shop: Shop, context: Context) -> None:
    if is_being_deleted(shop):
        leaves(shop, context)
        return
    enlists(add_finalizer(context.client.resource(Shop), shop, FINALIZER), context)


def listed_first(shop: Shop, context: Context) -> None:
    if is_being_deleted(shop):
        leaves(shop, context)
        return
    enlists(shop, context)
    add_finalizer(context.client.resource(Shop), shop, FINALIZER)


def freed_first(shop: Shop, context: Context) -> None:
    if is_being_deleted(shop):
        remove_finalizer(context.client.resource(Shop), shop, FINALIZER)
        strikes_off(shop, context)
        return
    enlists(add_finalizer(context.client.resource(Shop), shop, FINALIZER), context)


def frees_of_all(shop: Shop, context: Context) -> None:
    if is_being_deleted(shop):
        strikes_off(shop, context)
        context.client.resource(Shop).patch(
            shop.metadata.name, {"metadata": {"finalizers": []}}, namespace=shop.metadata.namespace
        )
        return
    enlists(add_finalizer(context.client.resource(Shop), shop, FINALIZER), context)


def strikes_off_any(shop: Shop, context: Context) -> None:
    if is_being_deleted(shop):
        with suppress(NotFound):
            context.client.resource(ConfigMap).delete(entry(shop).metadata.name, namespace=LIST)
        remove_finalizer(context.client.resource(Shop), shop, FINALIZER)
        return
    listed(shop, context)


def wants_it_there(shop: Shop, context: Context) -> None:
    if is_being_deleted(shop):
        context.client.resource(ConfigMap).delete(entry(shop).metadata.name, namespace=LIST)
        remove_finalizer(context.client.resource(Shop), shop, FINALIZER)
        return
    listed(shop, context)


# writes


def named_by_spec(shop: Shop, context: Context) -> None:
    context.apply(page(shop, shop.spec.page), owner=shop)


def named_by_spec_alone(shop: Shop, context: Context) -> None:
    kept = context.apply(page(shop, shop.spec.page), owner=shop)
    context.prune(ConfigMap, keep=[kept], owner=shop)


def replaces(shop: Shop, context: Context) -> None:
    found, maps = cached(ConfigMap, shop, context), context.client.resource(ConfigMap)
    if found is not None and is_controlled_by(found, shop) and found.data != page(shop).data:
        maps.delete(found.metadata.name, namespace=found.metadata.namespace)
        found = None
    if found is None:
        with suppress(AlreadyExists):
            create(page(shop), shop, context)


def overwrites(shop: Shop, context: Context) -> None:
    found, wanted = cached(ConfigMap, shop, context), with_controller(page(shop), shop)
    if found is None:
        context.client.resource(ConfigMap).create(wanted)
    elif is_controlled_by(found, shop) and found.data != wanted.data:
        context.client.resource(ConfigMap).update(wanted)


def takes_any(shop: Shop, context: Context) -> None:
    found = cached(ConfigMap, shop, context)
    if found is None:
        create(page(shop), shop, context)
    elif found.data != page(shop).data:
        change = {"data": dict(page(shop).data)}
        context.client.resource(ConfigMap).patch(
            found.metadata.name, change, namespace=shop.metadata.namespace
        )


def corrects_its_own(shop: Shop, context: Context) -> None:
    found = cached(ConfigMap, shop, context)
    if found is None or is_controlled_by(found, shop):
        takes_any(shop, context)


def makes_once(shop: Shop, context: Context) -> None:
    with suppress(AlreadyExists):
        create(page(shop), shop, context)


def gives_up_at_a_conflict(shop: Shop, context: Context) -> None:
    found = cached(ConfigMap, shop, context)
    if found is None:
        create(page(shop), shop, context)
    elif is_controlled_by(found, shop) and found.data != page(shop).data:
        with suppress(Conflict):
            context.client.resource(ConfigMap).update(evolve(found, "data", page(shop).data))


def owned_by_a_name_alone(shop: Shop, context: Context) -> None:
    if cached(ConfigMap, shop, context) is None:
        context.client.resource(ConfigMap).create(with_owner(page(shop), shop))


# the status


def tells_first(shop: Shop, context: Context) -> None:
    context.update_status(shop, ShopStatus(phase=f"Has {shop.spec.text}"))
    context.apply(page(shop), owner=shop)


def tells_last(shop: Shop, context: Context) -> None:
    context.apply(page(shop), owner=shop)
    context.update_status(shop, ShopStatus(phase=f"Has {shop.spec.text}"))


def believes_its_status(shop: Shop, context: Context) -> None:
    if shop.status.observed_generation != shop.metadata.generation:
        context.apply(page(shop), owner=shop)
        context.update_status(shop, ShopStatus())


class Counts:
    """Counts changes in the process."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def reconcile(self, shop: Shop, context: Context) -> None:
        self.seen.add(shop.metadata.generation)
        context.update_status(shop, ShopStatus(count=len(self.seen)))


def counts(shop: Shop, context: Context) -> None:
    context.update_status(shop, ShopStatus(count=len(shop.spec.text)))


def acts_on_a_cause(shop: Shop, context: Context) -> None:
    if any(cause.endswith("added") for cause in context.causes) or shop.metadata.generation > 1:
        context.apply(page(shop), owner=shop)


# another object


def themed(shop: Shop, context: Context) -> None:
    theme = context.lister_for(ConfigMap).get(f"{shop.metadata.namespace}/{shop.spec.theme}")
    if theme is not None:
        made = Secret(metadata=metadata(shop), data=secret_data({"colour": theme.data["colour"]}))
        context.apply(made, owner=shop)


class Reads:
    """Asks the server for each theme, once."""

    def __init__(self) -> None:
        self.colours: dict[str, str] = {}

    def reconcile(self, shop: Shop, context: Context) -> None:
        name = shop.spec.theme
        if name not in self.colours:
            with suppress(NotFound):
                found = context.client.resource(ConfigMap).get(name, namespace=shop.metadata.namespace)
                self.colours[name] = found.data["colour"]
        if name in self.colours:
            made = Secret(metadata=metadata(shop), data=secret_data({"colour": self.colours[name]}))
            context.apply(made, owner=shop)


THEMES: Final = (ConfigMap, lambda config: [object_name(config)._replace(name="a")])
RENAMED: Final = "the undisturbed run ends differently"

PLANTED: Final[dict[str, Planted]] = {
    "a child is not owned": Planted(
        "no reconcile follows", always(keeps_page), always(keeps_page), wrong_owns=()
    ),
    "one of two is not owned": Planted(
        "Service default/a does not come back",
        always(keeps_deployment_and_service),
        always(keeps_deployment_and_service),
        (Deployment, Service),
        (Deployment,),
    ),
    "a predicate hides the status of a child": Planted(
        RENAMED,
        always(tells_of_deployment),
        always(tells_of_deployment),
        (Deployment,),
        ((Deployment, GenerationChanged()),),
    ),
    "the child of the status is not watched": Planted(
        RENAMED, always(tells_of_deployment), always(tells_of_deployment), (Deployment,), ()
    ),
    "an owner that is not a controller": Planted(
        "no reconcile follows", always(owned_by_a_name_alone), always(once_by_name), story=PLAIN
    ),
    "another object is not watched": Planted(
        RENAMED, always(themed), always(themed), (Secret, THEMES), (Secret,), THEMED
    ),
    "another object is read once": Planted(
        RENAMED, lambda: Reads().reconcile, always(themed), (Secret, THEMES), story=THEMED
    ),
    "a map of the process": Planted("does not come back", lambda: Made().reconcile, always(keeps_page)),
    "a map of the module": Planted("does not come back", always(made_by_module), always(keeps_page)),
    "hashes in the process": Planted("does not come back", lambda: Hashes().reconcile, always(keeps_page)),
    "a clock in the process": Planted("does not come back", lambda: Patient().reconcile, always(keeps_page)),
    "a Job named after the second": Planted(
        "once more", always(job_of_the_second), always(one_job_a_generation), (Job,), story=PLAIN
    ),
    "a Job named by chance": Planted(
        "once more", always(job_by_chance), always(job_of_the_object), (Job,), story=PLAIN
    ),
    "a child named by a counter": Planted(
        "but should not", lambda: Counted().reconcile, always(once_by_name), story=PLAIN
    ),
    "a child without a name": Planted(
        "once more", always(page_without_a_name), always(once_by_name), story=PLAIN
    ),
    "a password is applied": Planted(
        "generated data.password of Secret default/a again",
        always(applies_password),
        always(makes_password),
        (Secret,),
    ),
    "a password depends on another": Planted(
        "Secret default/a-client", always(passwords_together), always(each_password), (Secret,)
    ),
    "the start of the process is in the pods": Planted(
        "generated spec.template.metadata.annotations.example.org/began",
        lambda: Stamped().reconcile,
        always(keeps_deployment_and_service),
        (Deployment, Service),
    ),
    "a finalizer after what it is for": Planted(
        "ConfigMap kube-public/default-a exists in the end", always(listed_first), always(listed), ()
    ),
    "a finalizer goes before the end": Planted(
        "ConfigMap kube-public/default-a exists in the end", always(freed_first), always(listed), ()
    ),
    "all finalizers go": Planted(
        "removed another client's finalizer", always(frees_of_all), always(listed), ()
    ),
    "a foreign entry is struck off": Planted(
        "default-a was deleted", always(strikes_off_any), always(listed), ()
    ),
    "an end that waits for what is gone": Planted(
        "is still being deleted", always(wants_it_there), always(listed), ()
    ),
    "an old name stays": Planted(RENAMED, always(named_by_spec), always(named_by_spec_alone)),
    "deleted and made for each change": Planted(
        "the operator deletes ConfigMap default/a", always(replaces), always(keeps_page)
    ),
    "overwritten without a version": Planted(
        "removed another client's label", always(overwrites), always(keeps_page)
    ),
    "a foreign object is taken": Planted("was written", always(takes_any), always(corrects_its_own)),
    "made once": Planted(RENAMED, always(makes_once), always(keeps_page)),
    "a conflict is swallowed": Planted("differs", always(gives_up_at_a_conflict), always(keeps_page)),
    "the status comes first": Planted("said that all is done", always(tells_first), always(tells_last)),
    "the status is believed": Planted("does not come back", always(believes_its_status), always(tells_last)),
    "a counter of the process": Planted("status.count", lambda: Counts().reconcile, always(counts), ()),
    "a cause is taken for the state": Planted(
        "does not come back", always(acts_on_a_cause), always(keeps_page), story=PLAIN
    ),
    "pods without names": Planted(
        "", always(pods_without_a_name), always(pods_without_a_name), (Pod,), story=PLAIN
    ),
}
