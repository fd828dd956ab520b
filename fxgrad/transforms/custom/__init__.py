"""Rules of the user's own: custom_jvp, custom_vjp, `fx.custom`."""
