"""How many times a selection runs its base mechanism, one law a file."""
