"""The engine: brackets of the privacy cost of a product of dominating pairs."""
