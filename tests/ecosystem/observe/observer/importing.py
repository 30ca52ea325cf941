"""Rewrites the modules of the observed folders when they are imported."""
import importlib.machinery
import re
import sys

from observer import rewrite


class Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name, path, sites, failures):
        super().__init__(name, path)
        self.sites = sites
        self.failures = failures

    def get_code(self, fullname):
        # Cached bytecode was compiled from the original text.
        path = self.get_filename(fullname)
        return compiled(self.get_data(path), path, self.sites, self.failures)


# Dynamo interprets the bytecode of modules that use torch, so it must be the original bytecode.
OF_TORCH = re.compile(rb"^\s*(import|from) torch\b", re.MULTILINE)


def compiled(source, path, sites, failures):
    if OF_TORCH.search(source):
        return compile(source, path, "exec", dont_inherit=True)
    try:
        return compile(rewrite.instrumented(source, path, sites), path, "exec", dont_inherit=True)
    except (SyntaxError, RecursionError, ValueError) as error:
        failures.append(f"{path}: {error}")
        return compile(source, path, "exec", dont_inherit=True)


class Finder:
    """Finds modules as Python does, and loads those of the observed folders with the rewriting loader."""

    def __init__(self, observed, sites, failures):
        self.observed = observed
        self.sites = sites
        self.failures = failures

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if not self.observed(spec.origin):
            return None
        spec.loader = Loader(spec.loader.name, spec.loader.path, self.sites, self.failures)
        return spec

    def invalidate_caches(self):
        pass


def install(observed, sites, failures):
    sys.meta_path.insert(0, Finder(observed, sites, failures))
