"""The public functions. `autograph` exports them; nothing else is public."""
