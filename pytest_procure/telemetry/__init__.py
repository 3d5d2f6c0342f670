"""The hardware and software a run was made on."""
