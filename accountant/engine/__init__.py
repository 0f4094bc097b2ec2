"""The engine: brackets of what a product of dominating pairs costs."""
