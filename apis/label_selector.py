"""Label selectors that are fields of objects, such as `spec.selector`, and the objects that they select."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handloop.apis.grammar.labels import Operator, Requirement, Selector, SelectorError
from handloop.apis.meta import APIStruct

_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


class SelectingStruct(APIStruct):
    """
    The base of meta/v1 LabelSelector: match_labels and match_expressions, all of which must hold.

    If both are empty, every object is selected. For a kind in which a missing selector should select nothing,
    the kind's author has to check whether it is missing.
    Follows: apimachinery pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector).
    """

    def selector(self) -> Selector:
        """
        Return the selector in the form that listers use.

        Raises: SelectorError for an operator, a key or a value that the server would refuse.
        """
        said: Any = self
        wanted = [Requirement(key, Operator.EQUALS, (value,)) for key, value in said.match_labels.items()]
        for each in said.match_expressions:
            if each.operator not in _OPERATORS:
                raise SelectorError(f'"{each.operator}" is not a valid label selector operator')
            wanted.append(Requirement(each.key, _OPERATORS[each.operator], each.values))
        return Selector(tuple(sorted(wanted, key=lambda requirement: requirement.key)))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """
        Return whether an object with these labels is selected.

        Raises: the same SelectorError as selector.
        """
        return self.selector().matches(labels)
