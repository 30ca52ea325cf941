"""Intercepts torch while a function is traced: its Python functions (`functions`), its dispatcher (`dispatch`), and the
methods that its own Python code calls (`patches`)."""
