"""User-defined rules: `custom_jvp`, `custom_vjp`, and `fx.custom`."""
