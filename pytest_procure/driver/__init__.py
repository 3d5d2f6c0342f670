"""Runs a schedule against a backend and writes a request log."""
