"""Items at a staged index of a list of Python: `rows[k]`. The graph selects the item, so it is a copy. A later
change of the copy or of one of the items would not reach the other. Such a change is an error, or the index is decided for
the arguments of the call."""

import torch

from ..errors import Decide, StagingError


class CopiedItem:
    """Marks an item and its copy. `span` is the place of the index. `may_decide`: the index can be decided instead."""

    __slots__ = ("span", "may_decide")

    def __init__(self, span, may_decide):
        self.span = span
        self.may_decide = may_decide

    def refuse_change(self, staging):
        if self.may_decide and staging.is_replayable():
            raise Decide(self.span)
        message = "this takes an item that is changed later, at an index that is only known when the graph runs"
        raise StagingError(f"{message}\nhelp: assign the new item: `items[i] = new`", self.span)


def mark(staging, item, copied, copy=None):
    """Marks an item with the `CopiedItem` `copied`. For an original, `copy` is a weak reference to its copy, and the mark
    is valid while the copy exists. Changes of dictionaries are found at the end of the trace."""
    if isinstance(item, list) and hasattr(type(item), "copied"):  # a `List`
        item.copied = (*item.copied, (copied, copy))
        inner = list.__iter__(item)
    elif isinstance(item, dict):
        staging.copied_dictionaries.append((item, dict(item), copied))
        inner = item.values()
    elif isinstance(item, torch.Tensor):
        staging.aliases.copied[staging.view_of(item).base] = copied
        inner = ()
    else:
        inner = item if isinstance(item, tuple) else ()
    for part in inner:
        mark(staging, part, copied, copy)


def check_dictionaries(staging):
    """Restarts or ends the trace if a marked dictionary has been changed."""
    for dictionary, items, copied in staging.copied_dictionaries:
        if list(items) != list(dictionary) or any(items[key] is not dictionary[key] for key in items):
            copied.refuse_change(staging)
