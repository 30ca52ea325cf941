"""Names of variables and attributes in an exported program."""

import re


class Names:
    """Generates unique names."""

    def __init__(self, reserved):
        self._taken = set(reserved)

    def new(self, hint):
        """Returns a new name that resembles this text."""
        base = re.sub(r"\W+", "_", hint, flags=re.ASCII).strip("_") or "v"
        base = f"v{base}" if base[0].isdigit() else base
        name, count = base, 1
        while name in self._taken:
            name, count = f"{base}_{count}", count + 1
        self._taken.add(name)
        return name
