"""What is kept of a run: request logs, digests, the record that the report is made from."""
