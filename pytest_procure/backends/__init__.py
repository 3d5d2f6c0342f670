"""Adapters that make a candidate answer queries: one file a runtime."""
