"""Python numbers that are inputs of a graph because they change between calls, such as `self.step` or `group["lr"]`."""

from ..capture.places import Cell, ClassAttribute, Element, Global, Items, SlotAttribute


class NumberInputs:
    """Puts a staged number into each of these places, for the time of one trace. Each run reads the numbers at the places.
    Places that are the same variable, such as the item of a list that two attributes hold, get the same staged number."""

    def __init__(self, staging, places):
        self._kinds = [(place, type(place.state())) for place in places]
        self._staged = {}  # key of a place -> the staged number, or tuple that holds it, that the trace finds there
        self._items = {}  # id of a container -> {index or key: the staged number or tuple}
        found = {}  # the object that stores a number, and its names there -> the staged number
        for place in places:
            key = _variable(place)
            if key not in found:
                found[key] = staging.number_in(place)
                self._put(place, found[key])
            self._staged[place.key()] = found[key]

    def _put(self, place, value):
        """Puts a value into a place. A tuple is replaced by one that holds the value."""
        if isinstance(place, Element) and isinstance(before := place.holder.state(), tuple):
            items = [*before[: place.name], value, *before[place.name + 1 :]]
            self._put(place.holder, tuple.__new__(type(before), items))
            return
        place.restore(value)
        self._staged[place.key()] = value
        (container, *_), name = _variable(place), place.name
        self._items.setdefault(container, {})[name] = value

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
    """Returns the id of the object that stores the value of a place, and the name of the value there; for an item of a tuple,
    those of the tuple and the index of the item."""
    if isinstance(place, Element):
        container = place.holder.state()
        return (*_variable(place.holder), place.name) if isinstance(container, tuple) else (id(container), place.name)
    if isinstance(place, Global):
        return id(place.scope), place.name
    if isinstance(place, Cell):
        return id(place.cell), place.name
    is_in_dict = not isinstance(place, (ClassAttribute, SlotAttribute))
    return id(place.owner.__dict__ if is_in_dict else place.owner), place.name
