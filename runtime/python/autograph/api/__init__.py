"""The public functions, which the package `autograph` exports."""
