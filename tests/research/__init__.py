"""Research programs as their authors write them; each checks itself against an independent reference."""
