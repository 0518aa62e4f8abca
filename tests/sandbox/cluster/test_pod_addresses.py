from __future__ import annotations

from handloop.sandbox.cluster.pod_addresses import PodAddresses


def test_addresses_are_unique_while_in_use() -> None:
    """Thousands of pods have different addresses, all valid."""
    addresses = PodAddresses()
    taken = [addresses.take() for _ in range(5000)]
    assert len(set(taken)) == 5000
    assert all(0 < int(part) < 256 for address in taken for part in address.split(".")[3:])
    assert taken[0] == "10.244.0.3"


def test_adopted_address_is_not_given_twice() -> None:
    """An address found on a running pod is kept and skipped when its turn comes."""
    addresses = PodAddresses()
    assert addresses.take("10.244.0.3") == "10.244.0.3"
    assert addresses.take() == "10.244.0.4"
    addresses.give_back("10.244.0.3")
    assert addresses.take() == "10.244.0.5"
