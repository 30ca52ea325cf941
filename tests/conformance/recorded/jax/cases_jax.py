"""The programs that record_eager.py runs for JAX: the `main()` of each module of this folder."""
from main_calls import calls

MODULES = ("attention", "branches", "control", "loops", "modules", "networks", "optimisers", "pipelines", "sampling",
           "shapes", "simulation", "solvers", "transforms")

CASES = {name: (lambda module, seed: calls(module, "jax.jit")) for name in MODULES}
