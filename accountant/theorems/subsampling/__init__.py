"""Privacy amplification by subsampling, one scheme a file."""
