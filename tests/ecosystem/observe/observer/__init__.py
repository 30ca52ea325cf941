"""Observes what a framework does with a program: the functions that run during tracing, the conditions that become part
of the graph, and the errors. `python -m observer --facts FACTS --root FOLDER -- program.py` writes the facts as JSON
lines."""
