"""Interception of torch while a function is traced: of Python functions (`functions`), of the dispatcher (`dispatch`),
and of torch's own Python code (`patches`)."""
