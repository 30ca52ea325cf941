"""Traces: one graph of a function, made by one call, and what decides whether another call may run it."""
