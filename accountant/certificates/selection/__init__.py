"""Make witnesses of pairs above a selection."""
