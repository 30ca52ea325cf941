"""The values that the regions of a condition or loop read from outside."""

from ..graph import values


def free_values(regions):
    """Returns the values that regions read from outside, in the order of their first use."""
    found, defined = {}, set()

    def visit(region):
        defined.update(region.params)
        for node in region.nodes:
            for operand in node.operands:
                found.update((value, None) for value in values(operand) if value not in defined)
            for inner in node.regions:
                visit(inner)
            defined.update(node.outputs)
        found.update((value, None) for result in region.results for value in values(result) if value not in defined)

    for region in regions:
        visit(region)
    return list(found)
