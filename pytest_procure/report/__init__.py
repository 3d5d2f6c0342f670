"""From the evidence to what people read: HTML, terminal, JSON."""
