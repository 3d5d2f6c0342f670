"""The buyer's own labelled samples, and the slices chosen for a test."""
