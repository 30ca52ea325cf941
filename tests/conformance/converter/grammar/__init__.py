"""A grammar of random Python functions that terminate and record events."""
