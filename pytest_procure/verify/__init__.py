"""Checks an evidence pack offline: everything that follows from the rows is made again, and compared."""

from .verification import Mismatch, Verification, verify

__all__ = ["Mismatch", "Verification", "verify"]
