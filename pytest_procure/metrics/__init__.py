"""From a request log to measurements."""
