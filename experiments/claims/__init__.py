"""The claims ledger: one published claim a file, each with a check that can be run."""
