"""Programs of other libraries under their doors."""
