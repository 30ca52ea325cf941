"""Leaves whose gradient exists on some paths only, because only there the output depends on them:

    h = w * x                                         # `w` is used
    loss = h.sum() if x.sum() > 0 else x.sum()        # but the loss depends on it on one path only
"""

from ..record.dependencies import Dependencies
from ..record.nodes import Value
from ..record.ops import IF
from . import scalars


def reached(staging, sources, outputs):
    """Returns for each source whether a gradient flows to it from an output: a boolean, which may be staged. It is
    False if no output can depend on the source."""
    if not _has_branches(staging):
        return [True] * len(sources)
    dependencies, region = Dependencies(staging.record, sources), staging.record.region
    masks = [dependencies.of(output) for output in outputs]
    found = []
    for index in range(len(sources)):
        bit, flag = 1 << index, False
        if any(must & bit for _, must in masks):
            found.append(True)
            continue
        for output, (may, _) in zip(outputs, masks):
            if may & bit:
                flag = dependencies.either(region, flag, dependencies.flag(output, index))
        found.append(flag if isinstance(flag, bool) else scalars.wrap(staging, flag))
    return found


def used(staging, results):
    """Returns the leaves from outside that were used on some path, each with whether a result of the trace depends on it: a
    boolean, which may be staged."""
    values = list(staging.uses.values.items())
    outputs = [result for result in results if isinstance(result, Value)]
    flags = reached(staging, [base.source.param for base, _ in values], outputs) if values else ()
    return [(base, staging.both(flag, is_reached)) for (base, flag), is_reached in zip(values, flags)]


def _has_branches(staging):
    """Returns whether an enclosing region contains an `if` of the graph with results."""
    region = staging.record.region
    while region is not None:
        if any(node.op == IF and node.outputs for node in region.nodes):
            return True
        region = region.parent
    return False
