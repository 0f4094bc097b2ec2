"""Statistics of records: clipped sums and means, second moments, and clusters."""
