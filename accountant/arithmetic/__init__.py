"""Numbers known up to a radius, and the elementary functions of them."""
