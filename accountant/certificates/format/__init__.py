"""The certificate as exact JSON."""
