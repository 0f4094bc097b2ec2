"""Which parameter meets a target."""
