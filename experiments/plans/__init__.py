"""Plans: the records, steps and dimensions for which an accuracy is proved."""
