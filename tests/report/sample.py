"""Records to render: the demo's three candidates, and one in which everything happened."""

import copy
from statistics import NormalDist
from typing import Any

import drawn

from pytest_procure.evidence.record import FORMAT, VERSION, Record

A, B, R = "vendor-a-fp32", "vendor-b-int8", "vendor-b-int8-recalibrated"
SCANS = "Can it read the scans that our own scanner makes?"
PEAK = "Does it keep up with Monday's peak, at a price we can pay?"
BURST = "Does it keep up when the archive is sent all at once?"

_ENDS = {"at least": "lower", "at most": "upper"}


def amount(number: float, text: str, unit: str = "") -> dict[str, Any]:
    return {"number": number, "unit": unit, "text": text}


def share(number: float) -> dict[str, Any]:
    return amount(number, f"{100 * number:.1f} %".replace(".0 %", " %"))


def time(us: float) -> dict[str, Any]:
    return amount(us * 1000, f"{us:g} us", "ns")


def finding(metric: str, estimate: Any, low: Any, high: Any, verdict: str, **more: Any) -> dict[str, Any]:
    """A finding on one of the three bars of the samples."""
    title, kind, sense, bar, n_unit = {
        "accuracy": ("answers right", "quality", "at least", share(0.95), "samples"),
        "latency.p95": (
            "slowest 5 in 100 requests (p95)",
            "latency",
            "at most",
            amount(2, "2 ms", "ms"),
            "requests",
        ),
        "cost_per_request": (
            "cost per request",
            "cost",
            "at most",
            amount(0.00002, "0.00002 USD", "USD"),
            "price",
        ),
        "throughput": (
            "samples a second",
            "throughput",
            "at least",
            amount(20_000, "20,000/s", "1/s"),
            "launches",
        ),
        "ttft.p95": (
            "slowest 5 in 100 times to the first token (p95)",
            "latency",
            "at most",
            amount(400, "400 ms", "ms"),
            "requests",
        ),
        "itl.p95": (
            "slowest 5 in 100 gaps between tokens (p95)",
            "latency",
            "at most",
            amount(50, "50 ms", "ms"),
            "gaps between tokens",
        ),
        "error_rate": ("requests failed", "errors", "at most", share(0.01), "requests"),
    }[metric]
    if metric in {"accuracy", "latency.p95"}:
        more.setdefault("characteristic", drawn.characteristic())
    counted = {"samples": 797, "requests": 2400, "launches": 5, "price": 1, "gaps between tokens": 48_000}
    n = more.pop("n", counted[n_unit])
    measured = "not measurable" if estimate is None else estimate["text"]
    argument = sense.replace(" ", "_")
    likely = f" (likely range {low['text']} to {high['text']})" if low and high else ""
    return {
        "metric": metric,
        "title": title,
        "kind": kind,
        "sense": sense,
        "bar": bar,
        "estimate": estimate,
        "low": low,
        "high": high,
        "n": n,
        "n_unit": n_unit,
        "n_effective": n / 1.25 if kind == "latency" else float(n),
        "design_effect": 1.25 if kind == "latency" else 1.0,
        "confidence": 0.95,
        "verdict": verdict,
        "sentence": f"{title}: {measured}{likely}; asked: {sense} {bar['text']}",
        "rule": f"Decision rule: one-sided Clopper-Pearson {_ENDS[sense]} bound against {bar['text']}.",
        "hint": "",
        "source": "declared",
        "text": f'bar("{metric}", {argument}="{bar["text"]}")',
        "where": "test_form_digits.py:31",
        "struck": False,
        "observed_only": False,
        "evidence_class": "term of the offer" if kind == "cost" else "measured on our task",
        **more,
    }


def curve(median_us: float, spread: float, answered: float = 1.0) -> list[list[float]]:
    """A log-normal distribution of latencies: [share, ms], rising."""
    normal = NormalDist(0.0, spread)
    shares = [i / 200 for i in range(1, 200)] + [0.9975, 0.999]
    return [
        [round(s * answered, 6), round(median_us / 1000 * 2.718281828 ** normal.inv_cdf(s), 6)]
        for s in shares
    ]


def stream() -> dict[str, Any]:
    """What an endpoint's run tells of its tokens."""
    return {
        "not_measurable": "",
        "failures": {"timeout": 21, "http": 3},
        "attempts": 2424,
        "bytes": 1_234_567,
        "tokens": {
            "reported_input": 90_000,
            "reported_output": 50_400,
            "counted_output": None,
            "chunks": 50_400,
        },
        "ttft_ms": {"p50": 180.0, "p95": 310.0, "p99": 402.5},
        "itl_ms": {"p50": 20.0, "p95": 55.0, "p99": 80.0},
        "tpot_ms": {"p50": 21.0, "p95": 40.0},
        "curves": {"ttft": curve(180_000, 0.33, 0.99), "itl": curve(20_000, 0.6, 0.99), "tpot": []},
        "pauses": [[31.0, 2.5]],
    }


def data() -> dict[str, Any]:
    return {
        "name": "scans-brighter",
        "version": "1",
        "licence": "BSD-3-Clause",
        "source": "scikit-learn's digits, rendered anew as a brighter and paler scan",
        "caveats": [
            "The scans are simulated: brighter paper and paler ink than the clean reference set.",
            "Writers are shared with the training samples, so this says nothing of new writers.",
        ],
        "metrics": ["accuracy"],
        "rule": {"n": None, "seed": None, "stratify": False, "where": None, "order": "dataset"},
        "n": 797,
        "of": 797,
        "strata": {str(digit): 79 + digit % 3 for digit in range(10)},
        "clusters": None,
        "digest": "9c1b0d5e7a4f4f0c8f2a9d31f5b6f0d2ab4f7c6e1d3058a7b2c4e6f8091a3b5c",
    }


def published() -> dict[str, Any]:
    return {
        "about": "Does it keep up with Monday's peak?",
        "score": "191.575 samples/s",
        "citation": "A submitter published a result of 191.575 samples/s on the MLPerf® Inference benchmark.",
        "footnote": "Retrieved on 2026-10-15. The MLPerf name and logo are registered trademarks.",
        "evidence_class": "public reference",
        "rows": [
            {"aspect": "dataset", "published": "ImageNet", "ours": "our-scans", "verdict": "differs"},
            {"aspect": "batch", "published": "", "ours": "at most 8 a batch", "verdict": "unknown"},
        ],
        "transfers": "What transfers is a direction for the shortlist.",
        "can": ["that this pair ran the reference task"],
        "cannot": ["your latency, throughput, quality or cost"],
    }


def run(median_us: float, spread: float, right: float, **more: Any) -> dict[str, Any]:
    points = curve(median_us, spread)
    at = dict(tuple(point) for point in points)
    latency = {"p50": at[0.5], "p90": at[0.9], "p95": at[0.95], "p99": at[0.99], "max": points[-1][1] * 1.3}
    return {
        "candidate": "vendor-a-fp32",
        "label": "Server: 40 requests/s on average, Poisson arrivals, for 60 s, at most 8 a batch",
        "conditions": {
            "scenario": "server",
            "label": "Server: 40 requests/s on average, Poisson arrivals, for 60 s, at most 8 a batch",
            "closed_loop": False,
            "count": None,
            "drain": "10 s",
            "duration": "60 s",
            "max_batch": 8,
            "max_wait": "0 ms",
            "qps": 40.0,
            "seed": 0,
            "timeout": "10 s",
            "wall_limit": "10 min",
            "warmup": 10,
            "workers": 1,
            "sample_order": "every item equally often, a fresh permutation each pass (PCG64)",
            "arrivals": "Poisson: exponential gaps in whole ns (PCG64), fixed before the run",
        },
        "declared": True,
        "requests": 2400,
        "ok": 2400,
        "failures": {},
        "error_texts": [],
        "seconds": 60.2,
        "latency_ms": latency,
        "curve": points,
        "slice": data(),
        "scores": {"accuracy": right},
        "strata": [
            {"stratum": str(d), "n": 79 + d % 3, "share": max(0.5, right - 0.06 + 0.012 * d)}
            for d in range(5)
        ],
        "audit": {"lag_us_p99": 41.5, "load_cpu_share": 0.12, "gc_collections": 0, "clock_step": False},
        "faults": [],
        "notes": [],
        "stopped": "",
        "timeline": drawn.timeline(median_us),
        "gallery": drawn.gallery(
            drawn.failure(12, "worst", "3", "8", image=drawn.png()),
            drawn.failure(40, "random", "1", "7", image=drawn.png(3), score=0.5, asked=2),
        ),
        **more,
    }


def result(candidate: str, test: str, verdict: str, sentence: str, **more: Any) -> dict[str, Any]:
    return {
        "candidate": candidate,
        "test": f"test_form_digits.py::{test}[{candidate}]",
        "verdict": verdict,
        "sentence": sentence,
        "problem": "",
        "findings": [],
        "not_reached": [],
        "runs": [],
        **more,
    }


def candidate(name: str, vendor: str, precision: str, dollars: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "vendor": vendor,
        "precision": precision,
        "hardware": "2 cores of a server CPU, x86-64 with AVX-512 VNNI",
        "price": {
            "model": "hourly",
            "currency": "USD",
            "amount": dollars,
            "utilisation": "0.55",
            "source": "price list",
            "date": "2026-11-01",
            "label": f"{dollars} USD an hour at 55 % utilisation",
        },
        "backend": {
            "runtime": "onnxruntime 1.32.0",
            "device": "cpu",
            "providers": ["CPUExecutionProvider"],
            "provider_nodes": {"CPUExecutionProvider": 11},
            "threads": 1,
            "graph_optimisation": "all",
            "decode": "argmax",
            "dtype": "float32",
            "model": {"file": f"{name}.onnx", "bytes": 489449, "sha256": "4f8a" * 16},
            "inputs": [{"name": "x", "type": "float32", "shape": ["batch", 1, 8, 8]}],
            "outputs": [{"name": "y", "type": "float32", "shape": ["batch", 10]}],
        },
        "notes": "",
        **more,
    }


def demo() -> Record:
    """Three candidates, two requirements: vendor B's first offer cannot read the buyer's scans."""
    good = {
        A: (share(0.991), share(0.983), share(0.996)),
        B: (share(0.856), share(0.834), share(0.876)),
        R: (share(0.991), share(0.983), share(0.996)),
    }
    speed = {A: (312.0, 0.42, 622), B: (190.0, 0.38, 355), R: (192.0, 0.38, 359)}
    dollars = {A: (0.0000135, "1.08"), B: (0.0000088, "0.70"), R: (0.0000088, "0.70")}
    scans, peak = [], []
    for name, (estimate, low, high) in good.items():
        verdict = "reject" if name == B else "accept"
        median, spread, p95 = speed[name]
        found = finding("accuracy", estimate, low, high, verdict)
        shown = {"verdict": "inconclusive", "struck": True} if name == B else {"verdict": "accept"}
        fast = finding("latency.p95", time(p95), time(p95 - 14), time(p95 + 19), **shown)
        price, _ = dollars[name]
        cheap = finding("cost_per_request", amount(price, f"{price:.7f} USD", "USD"), None, None, **shown)
        scans.append(
            result(
                name,
                "test_reads_our_scans",
                verdict,
                found["sentence"],
                findings=[found],
                runs=[run(median, spread, estimate["number"])],
            )
        )
        peak.append(
            result(
                name,
                "test_monday_peak",
                verdict,
                found["sentence"] if name == B else "all bars are met",
                findings=[found, fast, cheap],
                runs=[run(median, spread, estimate["number"])],
            )
        )
    return copy.deepcopy(
        {
            "format": FORMAT,
            "version": VERSION,
            "title": "A reader for handwritten digits on our forms",
            "decision": "Which offer, if any, may the forms desk buy for the coming year?",
            "measured_by": "the forms desk's own engineers",
            "measured_for": "the purchasing committee",
            "started": "2026-11-30T09:12:04Z",
            "finished": "2026-11-30T09:19:40Z",
            "plugin_version": "0.1.0",
            "command": "pytest --procure-report example_suite/form_digits",
            "consumer_risk": 0.05,
            "rejection_risk": 0.05,
            "rule": [
                "A bar is met when the confidence bound clears it; not met when the opposite one is past it.",
                "Latency percentiles are decided as shares: p95 at most 2 ms is at least 95 % within 2 ms.",
                "All bars of a requirement must be met; rejection takes Holm's correction over them.",
            ],
            "outcome": {
                "accepted": False,
                "award": "all",
                "sentence": (
                    "Two of three offers are accepted. Vendor B's first offer is not: "
                    "it misread one in seven of the buyer's scans."
                ),
                "exit_status": 1,
                "reasons": [f"{B} does not meet 2 of 2 requirements"],
            },
            "candidates": [
                candidate(
                    A, "Vendor A", "fp32", "1.08", verdict="accept", sentence="It meets every requirement."
                ),
                candidate(
                    B,
                    "Vendor B",
                    "int8",
                    "0.70",
                    verdict="reject",
                    sentence="It reads too few of the buyer's scans right.",
                ),
                candidate(
                    R, "Vendor B", "int8", "0.70", verdict="accept", sentence="It meets every requirement."
                ),
            ],
            "requirements": [
                {
                    "id": "test_form_digits.py::test_reads_our_scans",
                    "question": SCANS,
                    "scenario": "single_stream",
                    "results": scans,
                },
                {
                    "id": "test_form_digits.py::test_monday_peak",
                    "question": PEAK,
                    "scenario": "server",
                    "results": peak,
                },
            ],
            "datasets": [data()],
            "published": [],
            "environment": {
                "python": "3.11.7",
                "platform": "Linux x86-64",
                "cpu": {"model": "server CPU", "cores": 2, "governor": None},
                "packages": {"numpy": "2.4.6", "onnxruntime": "1.32.0", "pytest": "9.2.0"},
            },
            "notes": ["One process, one worker; nothing else ran on the machine."],
            "valid_until": "2027-06-30",
            "paired": [
                drawn.pair("test_form_digits.py::test_monday_peak", A, B, 110, 3),
                drawn.pair("test_form_digits.py::test_monday_peak", A, R, 4, 4),
            ],
        }
    )


def everything() -> Record:
    """A record in which everything happened: undecided, not tested, invalid, waived, failures, notes."""
    record: Any = demo()
    record |= {"title": "", "decision": "", "measured_by": "", "measured_for": "", "valid_until": ""}
    record["published"] = [published()]
    record["candidates"] += [
        candidate(
            "vendor-c-edge",
            "Vendor C",
            "",
            "0.40",
            verdict="inconclusive",
            sentence="It is too close to call.",
            notes="A preview build.",
            price={},
        ),
        candidate(
            "vendor-d",
            "",
            "fp16",
            "0.90",
            verdict="not tested",
            sentence="It could not be brought up.",
            hardware="",
            backend={},
        ),
        candidate(
            "vendor-e",
            "Vendor E",
            "fp8",
            "0.95",
            verdict="invalid",
            sentence="The measuring machine was late.",
        ),
        candidate(
            "vendor-f",
            "Vendor F",
            "fp8",
            "0.95",
            verdict="waived",
            sentence="The buyer waives one requirement.",
        ),
    ]
    scans, peak = record["requirements"]
    close = finding(
        "accuracy",
        share(0.956),
        share(0.942),
        share(0.968),
        "inconclusive",
        hint="A new run of 9,120 samples in all would decide 9 times in 10.",
    )
    failures = {"error": 3, "timeout": 21, "lost": 1, "empty": 2}
    scans["results"] += [
        result(
            "vendor-c-edge",
            "test_reads_our_scans",
            "inconclusive",
            "answers right: too close to call",
            findings=[
                close,
                finding(
                    "error_rate",
                    share(0.0113),
                    share(0.008),
                    share(0.0155),
                    "inconclusive",
                    observed_only=True,
                ),
                finding("ttft.p95", time(310_000), time(290_000), time(330_000), "accept"),
                finding("itl.p95", time(55_000), time(52_000), time(58_000), "reject"),
            ],
            runs=[
                run(
                    900,
                    0.7,
                    0.956,
                    failures=failures,
                    ok=2373,
                    error_texts=["RuntimeError: worker restarted"],
                    notes=["the backlog grew for 4 s"],
                    conditions={"max_batch": 32},
                    timeline=drawn.timeline(900, stalls=[(12.0, 4.0)]),
                    gallery=drawn.gallery(
                        drawn.failure(3, "worst", "a long answer", "a short one", text="What is on the form?")
                    ),
                    stream=stream(),
                    log="logs/vendor-c.csv",
                    log_sha256="ab" * 32,
                )
            ],
        ),
        result(
            "vendor-d",
            "test_reads_our_scans",
            "not tested",
            "not tested",
            problem="the model file names an operator that this runtime does not have",
        ),
        result(
            "vendor-e",
            "test_reads_our_scans",
            "accept",
            "all bars are met",
            findings=[finding("accuracy", share(0.99), share(0.982), share(0.995), "accept")],
            runs=[
                run(
                    400,
                    0.4,
                    0.99,
                    curve=[],
                    latency_ms={},
                    timeline=drawn.timeline(400, latency=False),
                    gallery={
                        **drawn.gallery(withheld=True),
                        "shown": [{"item": 5, "stratum": "", "picked": "worst", "score": 0.0, "asked": 1}],
                    },
                )
            ],
        ),
        result(
            "vendor-f",
            "test_reads_our_scans",
            "waived",
            "waived until 2027-01-31 by the head of forms: pilot only",
            findings=[finding("accuracy", share(0.94), share(0.92), share(0.955), "inconclusive")],
        ),
    ]
    peak["results"] += [
        result(
            "vendor-e",
            "test_monday_peak",
            "invalid",
            "invalid",
            problem="requests were sent up to 40 ms late while a worker was free",
            not_reached=[{"text": "result.latency.p50 <= ms(1)", "where": "test_form_digits.py:40"}],
            findings=[
                finding(
                    "latency.p95",
                    amount(2.9e6, "≥ 2.9 ms", "ns"),
                    amount(2.5e6, "2.5 ms", "ns"),
                    None,
                    "invalid",
                )
            ],
            runs=[run(900, 0.6, 0.99, faults=["late sending: 40 ms at worst"], stopped="wall limit reached")],
        )
    ]
    record["requirements"].append(
        {
            "id": "test_form_digits.py::test_archive",
            "question": BURST,
            "scenario": "offline",
            "results": [
                result(
                    A,
                    "test_archive",
                    "accept",
                    "all bars are met",
                    findings=[
                        finding(
                            "throughput",
                            amount(31_400.0, "31,400/s", "1/s"),
                            amount(30_900.0, "30,900/s", "1/s"),
                            amount(31_900.0, "31,900/s", "1/s"),
                            "accept",
                        ),
                        finding("cost_per_request", None, None, None, "inconclusive"),
                    ],
                    runs=[
                        run(
                            300,
                            0.4,
                            0.99,
                            latency_ms={},
                            curve=[],
                            label="Offline: all requests at once",
                            sweep=drawn.sweep(),
                            stages=drawn.stages(),
                        ),
                        run(300, 0.4, 0.99, declared=False),
                    ],
                ),
                result(B, "test_archive", "not tested", "", problem="the test ended before its scenario ran"),
            ],
        }
    )
    record["notes"].append("12 tests were deselected by -k.")
    return record
