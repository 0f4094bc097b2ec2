"""Write the certificate as exact JSON."""
