"""A graph for people: as text, JSON, DOT or SVG."""


def written(graph, format):
    """The graph in one of the formats that the runtime writes."""
    if format == "text":
        return graph.text().rstrip("\n")
    writer = getattr(graph, format, None)
    if writer is None:
        raise ValueError(f"this runtime does not write graphs as {format}")
    return writer()
