"""Chapter 3: apply the deltas of one key to the store, and tell the handlers."""


def process(key, deltas, store, tell):
    for delta_type, obj in deltas:
        known = store.get_by_key(key) is not None
        if delta_type == "Deleted":
            store.delete(obj)
            tell("delete", key)
        else:
            store.add(obj)
            tell("update" if known else "add", key)
