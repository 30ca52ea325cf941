"""Shared by the benchmarks: installation of tools and sources, CPU time, a language client, tables."""
