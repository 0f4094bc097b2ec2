"""How records are drawn: sampling schemes."""
