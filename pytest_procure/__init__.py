"""pytest-procure."""
