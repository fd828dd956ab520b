"""What a program spends its time on: see `profile`, and `recording` for the mechanism."""
