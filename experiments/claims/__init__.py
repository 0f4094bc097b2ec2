"""The claims ledger: published claims, one paper a file, each with a check that can be run."""
