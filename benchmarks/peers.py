"""Other tools that measure endpoints, against the same mock: what they say of requests a second and TTFT.

    python benchmarks/peers.py --peers DIR [--only NAME] [--count N]

`DIR` (or the variable `PROCURE_PEERS`) holds one virtual environment a peer, named as the peer:
`python -m venv DIR/guidellm && DIR/guidellm/bin/pip install guidellm`. PyPI has no MLPerf Endpoints: it is
installed from a checkout of github.com/mlcommons/endpoints (Python 3.12). A peer that is not there is skipped
with a sentence, and so is one that fails, with the end of what it wrote. Nothing is downloaded: the
tokenizer is made here, one word a token.

rate        answers at once, of one token: requests a second, as the peer reports them (vLLM streams them)
ttft        streams of 32 tokens, TTFT 50 ms, 10 ms between tokens: mean as reported minus the log, ms
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endpoint import RATES, STREAMS, Mock, floor_errors, floor_rate, our_errors, our_rate

_LIMIT_S = 240
_WORDS = 32
_STREAM = {"ttft_ms": 50.0, "itl_ms": 10.0, "tokens": 32}
#: What a client that takes seconds to start and a few hundred requests a second can do in a while.
_MOST_REQUESTS = 1024
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
#: Of what a peer wrote before it failed, so many last characters are told, without the frames around them.
_TOLD, _FRAMES = 300, dict.fromkeys(map(ord, "╭╮╰╯─│"), " ")
_TOKENIZER = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = {"<unk>": 0, "<s>": 1, "</s>": 2} | {f"w{i}": i + 3 for i in range(1000)}
made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
fast = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
fast.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
fast.save_pretrained(sys.argv[1])
"""


@dataclass(frozen=True)
class Job:
    """What a peer is asked to do, and a folder for what it writes."""

    port: int
    concurrency: int
    count: int
    tokens: int
    streamed: bool
    folder: Path

    @property
    def url(self) -> str:
        """The mock's address."""
        return f"http://127.0.0.1:{self.port}"

    def write(self, name: str, text: str) -> Path:
        """Write a file that the peer reads."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, pattern: str) -> Any:
        """Read the JSON file that the peer has written."""
        found = sorted(self.folder.rglob(pattern))
        if not found:
            raise LookupError(f"it wrote no {pattern}")
        return json.loads(found[0].read_text(encoding="utf-8"))


#: Requests a second, and the mean TTFT in ms where there is one.
Told = tuple[float, float | None]


@dataclass(frozen=True)
class Peer:
    """A tool: its program, the arguments of a job, and how its report is read."""

    name: str
    program: str
    arguments: Callable[[Job], Sequence[str]]
    told: Callable[[Job], Told]
    tokenizes: bool = True
    knows_offline: bool = True  # as the variables of huggingface_hub say it


def _prompts(job: Job) -> Path:
    prompt = " ".join(f"w{i}" for i in range(_WORDS))
    line = json.dumps({"prompt": prompt, "output_tokens_count": job.tokens})
    return job.write("prompts.jsonl", f"{line}\n" * job.count)


def _guidellm(job: Job) -> Sequence[str]:
    profile = f"concurrent,streams={job.concurrency}" if job.concurrency > 1 else "synchronous"
    return [
        *("run", "--disable-console-interactive", "--profile", f"kind={profile}"),
        *("--backend", f"kind=openai_http,target={job.url},model=mock"),
        *("--tokenizer", f"kind=hf_auto,model={job.folder / 'tokenizer'}"),
        *("--data", f"kind=json_file,path={_prompts(job)}"),
        *("--constraint", f"kind=max_requests,count={job.count}"),
        *("--output", f"kind=json,path={job.folder / 'report.json'}"),
    ]


def _guidellm_told(job: Job) -> Told:
    metrics = job.read("report.json")["benchmarks"][0]["metrics"]
    rate, ttft = (metrics[each]["successful"] for each in ("requests_per_second", "time_to_first_token_ms"))
    return rate["mean"], ttft["mean"]


def _inference_perf(job: Job) -> Sequence[str]:
    def fixed(size: int) -> dict[str, int]:
        return {"min": size, "max": size, "mean": size, "std_dev": 0, "total_count": job.count}

    stage = {"num_requests": job.count, "concurrency_level": job.concurrency}
    workers = min(2, job.concurrency)
    told = {
        "load": {"type": "concurrent", "num_workers": workers, "stages": [stage]},
        "api": {"type": "completion", "streaming": job.streamed},
        "data": {
            "type": "random",
            "input_distribution": fixed(_WORDS),
            "output_distribution": fixed(job.tokens),
        },
        "server": {"type": "vllm", "model_name": "mock", "base_url": job.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(job.folder / "tokenizer")},
        "storage": {"local_storage": {"path": str(job.folder / "report")}},
    }
    return ["--config_file", str(job.write("config.yml", json.dumps(told)))]  # JSON is YAML


def _inference_perf_told(job: Job) -> Told:
    good = job.read("summary_lifecycle_metrics.json")["successes"]
    ttft = good["latency"].get("time_to_first_token") if job.streamed else None
    return good["throughput"]["requests_per_sec"], 1e3 * ttft["mean"] if ttft else None


def _aiperf(job: Job) -> Sequence[str]:
    return [
        *("profile", "-m", "mock", "--tokenizer", str(job.folder / "tokenizer"), "--url", job.url),
        *("--endpoint-type", "chat", *(["--streaming"] if job.streamed else [])),
        *("--isl", str(_WORDS), "--osl", str(job.tokens), "--concurrency", str(job.concurrency)),
        *("--request-count", str(job.count), "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics"),
        *("--artifact-dir", str(job.folder / "report"), "--extra-inputs", "ignore_eos:true"),
    ]


def _aiperf_told(job: Job) -> Told:
    report = job.read("profile_export_aiperf.json")
    ttft = report.get("time_to_first_token")
    return report["request_throughput"]["avg"], ttft["avg"] if ttft else None


def _vllm(job: Job) -> Sequence[str]:
    return [
        *("bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions"),
        *("--base-url", job.url, "--model", "mock", "--tokenizer", str(job.folder / "tokenizer")),
        *("--dataset-name", "random", "--random-input-len", str(_WORDS), "--ignore-eos"),
        *("--random-output-len", str(job.tokens), "--num-prompts", str(job.count)),
        *("--max-concurrency", str(job.concurrency), "--disable-tqdm", "--save-result"),
        *("--result-dir", str(job.folder), "--result-filename", "report.json"),
    ]


def _vllm_told(job: Job) -> Told:
    report = job.read("report.json")
    return report["request_throughput"], report["mean_ttft_ms"]


def _mlperf(job: Job) -> Sequence[str]:
    return [
        *("benchmark", "online", "--endpoints", job.url, "--model", "mock", "--dataset", str(_prompts(job))),
        *("--tokenizer", str(job.folder / "tokenizer"), "--load-pattern", "concurrency", "--duration", "0"),
        *("--concurrency", str(job.concurrency), "--num-samples", str(job.count), "--workers", "1"),
        *("--max-output-tokens", str(job.tokens), "--streaming", "on" if job.streamed else "off"),
        *("--client.warmup-connections", "0", "--report-dir", str(job.folder / "report")),
    ]


def _mlperf_told(job: Job) -> Told:
    report = job.read("result_summary.json")
    ttft = report.get("ttft") if job.streamed else None
    return report["qps"], ttft["avg"] / 1e6 if ttft else None


_LOCUST = """
from locust import FastHttpUser, task
class Buyer(FastHttpUser):
    @task
    def ask(self):
        self.client.post("/v1/chat/completions", json={"model": "mock", "messages": [], "max_tokens": 1})
"""


def _locust(job: Job) -> Sequence[str]:
    return [
        *("-f", str(job.write("locustfile.py", _LOCUST)), "--headless", "--only-summary", "-u"),
        *(str(job.concurrency), "-r", str(job.concurrency), "-t", "10s", "--host", job.url),
        *("--json-file", str(job.folder / "report")),
    ]


def _locust_told(job: Job) -> Told:
    if job.streamed:
        raise LookupError("it reads no streams")
    (entry,) = job.read("report*.json")
    return entry["num_requests"] / (entry["last_request_timestamp"] - entry["start_time"]), None


PEERS = (
    # Told that it is offline, it takes the tokenizer's folder for the name of a repository, and fails.
    Peer("aiperf", "aiperf", _aiperf, _aiperf_told, knows_offline=False),
    Peer("guidellm", "guidellm", _guidellm, _guidellm_told),
    Peer("inference-perf", "inference-perf", _inference_perf, _inference_perf_told),
    Peer("vllm", "vllm", _vllm, _vllm_told),
    Peer("mlperf-endpoints", "inference-endpoint", _mlperf, _mlperf_told),
    Peer("locust", "locust", _locust, _locust_told, tokenizes=False),
)


def asked(peer: Peer, binaries: Path, job: Job) -> Told:
    """Run a peer's job. Raises `LookupError` with a sentence where it comes to nothing."""
    environment = os.environ | {"NO_COLOR": "1"} | dict.fromkeys(_OFFLINE, "1")
    if not peer.knows_offline:
        for name in _OFFLINE:
            del environment[name]
    if peer.tokenizes:
        make = [str(binaries / "python"), "-c", _TOKENIZER, str(job.folder / "tokenizer")]
        _run(make, environment, job.folder)
    _run([str(binaries / peer.program), *peer.arguments(job)], environment, job.folder)
    try:
        return peer.told(job)
    except (KeyError, TypeError, ValueError) as error:
        raise LookupError(f"its report cannot be read: {error!r}") from None


def _run(command: Sequence[str], environment: dict[str, str], folder: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a tool that whoever runs this has installed for it
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LookupError(f"it was not over after {_LIMIT_S} s") from None
    if done.returncode:
        said = " ".join(done.stdout.decode("utf-8", "replace").translate(_FRAMES).split())
        raise LookupError(f"it ended with status {done.returncode}: {said[-_TOLD:] or 'it said nothing'}")


def compare(peer: Peer, folder: Path, mock: Mock, most: int) -> None:
    """Print a peer's figures beside those of the floor client and ours, each in the same minute."""
    binaries = folder / peer.name / "bin"
    if not (binaries / peer.program).exists():
        print(f"{peer.name}: skipped, there is no {binaries / peer.program}", flush=True)
        return
    for streamed, cases in ((False, RATES), (True, STREAMS)):
        behaviour: dict[str, Any] = _STREAM if streamed else {"tokens": 1}
        for concurrency, plenty in cases.items():
            count = min(plenty, most)
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    job = Job(mock.port, concurrency, count, behaviour["tokens"], streamed, Path(scratch))
                    mock.behave(**behaviour)
                    rate, ttft = asked(peer, binaries, job)
                    records = _answered(mock, count)
            except LookupError as reason:
                print(f"{peer.name}: skipped at {concurrency}, {reason}", flush=True)
                continue
            if streamed and ttft is not None:
                true = statistics.fmean(each["first"] for each in records if each["first"] is not None) / 1e6
                own = [_own(each, mock, concurrency, count, "ttft") for each in (floor_errors, our_errors)]
                _say(peer.name, f"ttft error at {concurrency:>3} (ms)", ttft - true, own)
            elif not streamed:
                own = [_own(each, mock, concurrency, plenty, "rate") for each in (floor_rate, our_rate)]
                _say(peer.name, f"requests/s at {concurrency:>3}", rate, own)


def _answered(mock: Mock, count: int) -> list[dict[str, Any]]:
    """What the mock answered. Raises `LookupError` if that is less: some reports leave out what failed."""
    answered = [each for each in mock.ask("GET", "/log")["records"] if each["kind"] == "ok"]
    if len(answered) < count:
        raise LookupError(f"{len(answered)} of {count} requests were answered")
    return answered


def _own(
    measure: Callable[..., dict[str, float]], mock: Mock, concurrency: int, count: int, name: str
) -> float:
    """Measure ours or the floor's with the same server."""
    mock.behave(**(_STREAM if name == "ttft" else {"tokens": 1}))
    return measure(mock, concurrency, count)[name]


def _say(name: str, what: str, theirs: float, own: list[float]) -> None:
    floor, ours = own
    ratios = f"theirs over ours {theirs / ours:.2f}, over the floor's {theirs / floor:.2f}"
    print(f"{what:>24}: {name} {theirs:.2f}  ours {ours:.2f}  floor {floor:.2f}  ({ratios})", flush=True)


def main() -> None:
    """Compare with each peer that is there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path, default=os.environ.get("PROCURE_PEERS"))
    parser.add_argument("--only", choices=[peer.name for peer in PEERS])
    parser.add_argument("--count", type=int, default=_MOST_REQUESTS, help="most requests a run of a peer")
    given = parser.parse_args()
    against(given.peers, only=given.only, most=given.count)


def against(folder: Path | str | None, *, only: str | None = None, most: int = _MOST_REQUESTS) -> None:
    """Compare with the peers in `folder`; None: tell how to name one."""
    if folder is None:
        print(
            f"{', '.join(peer.name for peer in PEERS)}: skipped, neither --peers nor PROCURE_PEERS is given"
        )
        return
    mock = Mock()
    try:
        for peer in PEERS:
            if only in {None, peer.name}:
                compare(peer, Path(folder).absolute(), mock, most)
    finally:
        mock.process.terminate()


if __name__ == "__main__":
    main()
