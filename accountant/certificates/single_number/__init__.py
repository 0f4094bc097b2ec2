"""Make witnesses of one number: mu, rho, a Renyi divergence."""
