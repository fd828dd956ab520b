"""fxgrad.compat against torch itself."""
