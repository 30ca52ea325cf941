"""Python numbers that are inputs of a graph because they change between calls, such as `self.step` or `group["lr"]`."""

from ..capture.places import ClassAttribute, ClosureVariable, Element, Global, Items, SlotAttribute


class NumberInputs:
    """Puts a staged number into each of these places during one trace. Each run reads the numbers at the places.
    Places that are the same variable, such as the item of a list that two attributes hold, get the same staged number."""

    def __init__(self, staging, places):
        numbers = [place.state() for place in places]
        self._kinds = [(place, type(number)) for place, number in zip(places, numbers)]
        self._staged = {}  # key of a place -> the staged number that the trace finds there
        self._items = {}  # id of a container -> {index or key: the staged number}
        for place, number in zip(places, numbers):
            container, name = _variable(place)
            items = self._items.setdefault(id(container), {})
            if name not in items:
                items[name] = staging.number_in(place, number)
                place.restore(items[name])
            self._staged[place.key()] = items[name]

    def before(self, place, state):
        """Returns the state of a place as the traced code has found it, with the staged numbers in it. `state` is the state
        before they were put there."""
        if not isinstance(place, Items):
            return self._staged.get(place.key(), state)
        staged = self._items.get(id(place.container))
        if not staged:
            return state
        items = state.copy()
        for name, number in staged.items():
            items[name] = number
        return items

    def expect(self, guards):
        """Adds a guard for each place: it must hold a number of the same class."""
        for place, kind in self._kinds:
            guards.expect_number(place, kind)


def _variable(place):
    """Returns the object that stores the number at a place, and its index or name there."""
    if isinstance(place, Element):
        return place.holder.state(), place.name
    if isinstance(place, Global):
        return place.scope, place.name
    if isinstance(place, ClosureVariable):
        return place.cell, None
    is_in_dict = not isinstance(place, (ClassAttribute, SlotAttribute))
    return place.owner.__dict__ if is_in_dict else place.owner, place.name
