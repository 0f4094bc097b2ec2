"""Filters and odometers: budgets whose spending is decided after looking at outputs."""
