"""Observes what a framework does with a program: which functions run while it traces, which conditions it stages, and
what it raises. `python -m observer --facts FACTS --root FOLDER -- program.py` writes the facts as JSON lines."""
