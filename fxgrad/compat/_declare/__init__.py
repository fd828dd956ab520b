"""From the declaration of an operation to the function that users call."""
