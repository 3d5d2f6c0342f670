"""Drives an endpoint over HTTP from load processes of its own, which share columns with this process.

    drive ──► plan (bodies, order, schedule) ──► crew ══spawn══► process ──► load ──► connections
      ▲                                            │                          │
      ├── log, audit ◄── outcome ◄── columns ◄═════╧═══ shared memory ◄═══════╧── settle
      └── journal ◄── copying ◄─────────┘

What runs in a load process (`process`, and all that it imports) knows neither numpy nor pytest, so that it
starts quickly and collects no garbage.
"""
