"""The ledger: budgets that many processes spend over months, fail-closed and checkable."""
