"""Chapter 2: list, watch, and list again only when the log is lost."""

from handloop.client.errors import Gone


def reflect(server, store, stopped, wait):
    while not stopped():
        things, version = server.list()
        store.replace(things)
        try:
            while not stopped():
                for kind, thing, version in server.watch(version):
                    if kind == "DELETED":
                        store.remove(thing)
                    elif kind != "BOOKMARK":
                        store.put(thing)
                wait(1)
        except Gone:
            pass
