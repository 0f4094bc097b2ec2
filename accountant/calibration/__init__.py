"""Find the parameter that meets a privacy target."""
