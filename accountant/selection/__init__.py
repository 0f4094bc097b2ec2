"""The best of several runs: profiles of selections, and their pairs."""
