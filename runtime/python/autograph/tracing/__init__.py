"""Traces. A trace is one graph of a function, created by one call; its guards determine which other calls may run
it."""
