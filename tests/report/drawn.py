"""What runs carry to be drawn: made up, plausible, the same each time."""

import base64
import math
import re
import struct
import zlib


def timeline(median_us, *, rate=40.0, stalls=(), latency=True):
    steps = 40
    waits = [round(median_us / 1000 * (1 + 0.3 * math.sin(i / 3)), 6) for i in range(steps)]
    return {
        "step": 1.5,
        "warmup": 0.25,
        "launches": [0.0],
        "due": [int(rate * 1.5) + i % 3 for i in range(steps)],
        "answered": [int(rate * 1.5) + (i + 1) % 3 for i in range(steps)],
        "failed": [0] * steps,
        "half_ms": waits if latency else [],
        "slow_ms": [round(2 * wait, 6) for wait in waits] if latency else [],
        "stalls": [list(stall) for stall in stalls],
    }


def png(grey=7):
    """Sixteen pixels of one grey."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + bytes([grey * 17] * 2)) * 4
    header = struct.pack(">IIBBBBB", 4, 4, 4, 0, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def failure(item, picked, answered, expected, **more):
    told = {"item": item, "stratum": str(expected), "picked": picked, "score": 0.0, "asked": 1}
    return told | {"answered": answered, "expected": expected} | more


def gallery(*shown, withheld=False, of=797):
    return {
        "scorer": "accuracy",
        "failures": len(shown) + 4,
        "of": of,
        "withheld": withheld,
        "shown": list(shown),
    }


def sweep(by="rate"):
    loads = [(10.0, 0.3), (20.0, 0.35), (40.0, 0.8), (80.0, 6.0), (160.0, None)]
    return {
        "by": by,
        "points": [
            {
                "offered": load,
                "achieved": min(load, 90.0),
                "p50": None if wait is None else wait / 2,
                "p95": wait,
                "p99": None if wait is None else wait * 2,
                "ok": load < 80,
                "role": "sweep",
                "requests": 400,
                "failed": 0 if wait else 120,
                "seconds": 10.0,
                "late": False,
            }
            for load, wait in reversed(loads)
        ],
        "bars": ["latency.p95 at most 2 ms"],
        "found": 40.0,
        "sentence": "40 requests a second meet every bar.",
    }


def stages():
    return [
        {"name": "decode the scan", "mean_ms": 0.08, "p95_ms": 0.1},
        {"name": "read it", "mean_ms": 0.2, "p95_ms": 0.5},
        {"name": "check", "mean_ms": 0.03, "p95_ms": 0.04},
    ]


def characteristic():
    """A curve that rises from nothing to all around 95 %."""
    return [[round(0.93 + i * 0.0035, 6), round(1 / (1 + math.exp(-(i - 10) / 1.5)), 6)] for i in range(21)]


def pair(requirement, candidate, other, only_candidate, only_other):
    n = 797
    difference = (only_candidate - only_other) / n
    return {
        "requirement": requirement,
        "scorer": "accuracy",
        "candidate": candidate,
        "other": other,
        "difference": round(difference, 6),
        "low": round(difference - 0.02, 6),
        "high": round(difference + 0.02, 6),
        "confidence": 0.95,
        "n": n,
        "only_candidate": only_candidate,
        "only_other": only_other,
    }


def points(path):
    """Follow path data of `polyline`: absolute places of every line."""
    found, at = [], (0, 0)
    for command, numbers in re.findall(r"([Ml])([^Ml]*)", path):
        values = [int(number) for number in re.findall(r"-?\d+", numbers)]
        for x, y in zip(values[::2], values[1::2], strict=True):
            at = (x, y) if command == "M" else (at[0] + x, at[1] + y)
            found.append(at)
    return found
