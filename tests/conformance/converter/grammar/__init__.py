"""A grammar of random Python functions that end, and that say what they do."""
