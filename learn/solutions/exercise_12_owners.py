"""Chapter 12: think like the garbage collector."""


def garbage(objects):
    uids = {each.metadata.uid for each in objects}
    return [
        each.metadata.name
        for each in objects
        if (owners := each.metadata.owner_references) and not any(owner.uid in uids for owner in owners)
    ]


def waits_for(owner, objects):
    return [
        each.metadata.name
        for each in objects
        for reference in each.metadata.owner_references
        if reference.uid == owner.metadata.uid and reference.block_owner_deletion
    ]
