"""Pytester, for the tests of the plugin; pytest takes plugins from the topmost conftest only."""

pytest_plugins = "pytester"
