"""What candidates behind HTTP have in common: where they are, and what their answers mean."""
