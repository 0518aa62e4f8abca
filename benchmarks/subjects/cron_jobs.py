"""A program that converts the CronJob of kubebuilder's tutorial: its schedule is a string, or five fields."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from handloop import APIStruct, Context, Kind, Manager, controller_for, main, same_fields
from handloop.kinds.batch_v1 import JobTemplateSpec


class Schedule(APIStruct):
    """One field each; none is every."""

    minute: str | None = None
    hour: str | None = None
    day_of_month: str | None = None
    month: str | None = None
    day_of_week: str | None = None


class CronJobSpecV1Beta1(APIStruct):
    """As five fields."""

    schedule: Schedule
    starting_deadline_seconds: int | None = None
    concurrency_policy: str | None = None
    job_template: JobTemplateSpec


class CronJobV1Beta1(Kind, group="batch.benchmark.example.com", version="v1beta1", kind="CronJob"):
    """What clients ask for that are measured."""

    spec: CronJobSpecV1Beta1


class CronJobSpec(APIStruct):
    """As one text."""

    schedule: str
    starting_deadline_seconds: int | None = None
    concurrency_policy: str | None = None
    job_template: JobTemplateSpec


class CronJob(Kind, group="batch.benchmark.example.com", version="v1", previous=CronJobV1Beta1):
    """What is stored."""

    spec: CronJobSpec

    @classmethod
    def from_previous(cls, old: CronJobV1Beta1) -> CronJob:
        """Join the fields."""
        schedule = old.spec.schedule
        fields = (getattr(schedule, name) or "*" for name in Schedule.__struct_fields__)
        spec = same_fields(old.spec, CronJobSpec, schedule=" ".join(fields))
        return cls(metadata=old.metadata, spec=spec)

    def to_previous(self) -> CronJobV1Beta1:
        """Split the text."""
        fields = (None if field == "*" else field for field in self.spec.schedule.split(" "))
        schedule = Schedule(**dict(zip(Schedule.__struct_fields__, fields, strict=True)))
        spec = same_fields(self.spec, CronJobSpecV1Beta1, schedule=schedule)
        return CronJobV1Beta1(metadata=self.metadata, spec=spec)


def reconcile(job: CronJob, context: Context) -> None:
    """Nothing."""


def set_up(manager: Manager) -> None:
    """One controller."""
    controller_for(manager, "cron-jobs").for_(CronJob).complete(reconcile)


if __name__ == "__main__":
    main(set_up, name="cron-jobs")
