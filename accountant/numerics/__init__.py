"""The engine: from cumulant generating functions to certified privacy numbers."""
