"""Chapter 7: how long does a failed key wait?"""


class Backoff:
    def __init__(self):
        self.failures = {}

    def when(self, key):
        before = self.failures.get(key, 0)
        self.failures[key] = before + 1
        return min(0.005 * 2.0 ** min(before, 1000), 1000)

    def forget(self, key):
        self.failures.pop(key, None)

    def num_requeues(self, key):
        return self.failures.get(key, 0)
