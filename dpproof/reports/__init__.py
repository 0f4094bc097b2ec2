"""Answers for display: tables, plots and pages."""
