"""Bars against another candidate: both are there, both are asked the same, in turns."""

import pytest

from pytest_procure.metrics.comparison import BLOCKS

CONFTEST = """
from pathlib import Path
import threading
import time
from pytest_procure import RequestPrice

TOLD = Path(__file__).with_name("told.txt")

def tell(*words):
    with TOLD.open("a") as file:
        print(*words, file=file)

class Telling:
    '''A backend that tells when it is loaded, asked and closed.'''
    device, releases_gil = "cpu", False

    def __init__(self, name, answer=answers(1.0)):
        self.name, self.answer = name, answer

    def load(self, base):
        if self.name == "broken":
            raise MemoryError("3 GB wanted")
        tell(self.name, "loaded")
        return Loaded(self)

class Loaded:
    device, releases_gil = "cpu", False

    def __init__(self, declared):
        self.name, self.answer = declared.name, declared.answer

    def predict(self, inputs):
        tell(self.name, "asked", *inputs)
        return self.answer(inputs)

    def describe(self):
        return {}

    def close(self):
        tell(self.name, "closed")

def waits(seconds):
    def answer(inputs):
        time.sleep(seconds)
        return answers(1.0)(inputs)
    return answer

def hangs(inputs):
    threading.Event().wait(60)

def fails(inputs):
    raise RuntimeError("out of paper")

def pytest_procure_datasets():
    return {"numbers": numbers}

"""
EQUAL = """
@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("accuracy", at_least="90 %", of="ref")
def test_reads(procure):
    procure.run()
"""
FEW = "@pytest.mark.dataset_slice(n=40)" + EQUAL


def offers(suite, candidates):
    """Write a conftest with these candidates and backends that tell what happens to them."""
    suite.conftest(CONFTEST + f"def pytest_procure_candidates():\n    return [{candidates}]\n")


def two(suite, new='Telling("new")', ref='Telling("ref")', more=""):
    offers(suite, f'Candidate("ref", backend={ref}{more}), Candidate("new", backend={new}{more})')


def told(suite, word):
    """What happened, in order: `told(suite, "loaded") == ["new", "ref"]`."""
    lines = [line.split() for line in (suite.path / "told.txt").read_text("utf-8").splitlines()]
    return [line[0] for line in lines if line[1] == word]


def asked(suite):
    """(candidate, number) in the order in which they were asked."""
    lines = [line.split() for line in (suite.path / "told.txt").read_text("utf-8").splitlines()]
    return [(line[0], int(number)) for line in lines if line[1] == "asked" for number in line[2:]]


# Decided three ways


@pytest.mark.parametrize(
    ("new", "verdict"), [(1.0, "accept"), (0.97, "accept"), (0.91, "inconclusive"), (0.7, "reject")]
)
def test_a_share_of_the_reference_is_decided_three_ways(suite, new, verdict):
    suite.offers(ref=1.0, new=new)
    suite.tests(EQUAL)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[new]": verdict}
    assert ended.status == (verdict != "accept")


@pytest.mark.parametrize(("new", "verdict"), [(0.95, "accept"), (0.93, "inconclusive"), (0.7, "reject")])
def test_points_below_the_reference_are_decided_three_ways(suite, new, verdict):
    suite.offers(ref=0.95, new=new)
    suite.tests(EQUAL.replace('at_least="90 %", of="ref"', 'below="ref", margin=0.03'))
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[new]": verdict}
    (finding,) = ended.results["test_reads[new]"]["findings"]
    assert finding["bar"]["text"] == "-3 points"
    assert finding["metric"] == "accuracy - ref"


def test_the_finding_says_against_whom_and_how(suite):
    suite.offers(ref=1.0, new=0.97)
    suite.tests(EQUAL)
    (finding,) = suite.run("--procure-report").results["test_reads[new]"]["findings"]
    assert finding["metric"] == "accuracy / ref"
    assert finding["sentence"].startswith("answers right, as a share of ref's: 97 % of 400 items")
    assert "paired on the same items" in finding["rule"]
    assert finding["text"] == "bar(\"accuracy\", at_least='90 %', of='ref')"


def test_a_faster_candidate_is_accepted_by_a_share_of_the_latency(suite):
    two(suite, 'Telling("new", waits(0.001))', 'Telling("ref", waits(0.004))')
    suite.tests("""
        @pytest.mark.dataset_slice(n=50)
        @pytest.mark.scenario("single_stream", warmup=0)
        @pytest.mark.bar("latency.p50", at_most="80 %", of="ref")
        def test_is_quick(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_is_quick[new]": "accept"}
    (finding,) = ended.results["test_is_quick[new]"]["findings"]
    assert (finding["n"], finding["n_unit"]) == (BLOCKS, "pairs of blocks")


def test_a_candidate_that_serves_more_is_accepted_by_a_share_of_the_throughput(suite):
    two(suite, 'Telling("new", waits(0.001))', 'Telling("ref", waits(0.004))')
    suite.tests("""
        @pytest.mark.dataset_slice(n=50)
        @pytest.mark.scenario("offline", warmup=0)
        @pytest.mark.bar("throughput", at_least="120 %", of="ref")
        def test_serves_more(procure):
            procure.run()
    """)
    assert suite.run("--procure-report").verdicts == {"test_serves_more[new]": "accept"}


@pytest.mark.parametrize(("price", "verdict"), [("0.9", "accept"), ("1.3", "reject")])
def test_declared_prices_are_compared_as_they_are(suite, price, verdict):
    offers(
        suite,
        'Candidate("ref", backend=Telling("ref"), price=RequestPrice("1 USD")), '
        f'Candidate("new", backend=Telling("new"), price=RequestPrice("{price} USD"))',
    )
    suite.tests("""
        @pytest.mark.dataset_slice(n=20)
        @pytest.mark.bar("cost_per_request", at_most="110 %", of="ref")
        def test_costs_no_more(procure):
            procure.run()
    """)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_costs_no_more[new]": verdict}


def test_speed_against_the_reference_decides_nothing_where_quality_against_it_is_not_shown(suite):
    suite.offers(ref=1.0, new=0.5)
    suite.tests(
        EQUAL.replace("def test", '@pytest.mark.bar("latency.p50", at_most="10000 %", of="ref")\ndef test')
    )
    ended = suite.run("--procure-report")
    struck = {each["metric"]: each["struck"] for each in ended.results["test_reads[new]"]["findings"]}
    assert struck == {"accuracy / ref": False, "latency.p50 / ref": True}
    assert ended.verdicts == {"test_reads[new]": "reject"}


def test_bars_of_its_own_are_judged_on_the_same_run(suite):
    suite.offers(ref=1.0, new=1.0)
    suite.tests(EQUAL.replace("def test", '@pytest.mark.bar("error_rate", at_most=0.05)\ndef test'))
    ended = suite.run("--procure-report")
    found = {each["metric"]: each["verdict"] for each in ended.results["test_reads[new]"]["findings"]}
    assert found == {"accuracy / ref": "accept", "error_rate": "accept"}


def test_a_throughput_of_its_own_is_no_claim_of_a_comparison(suite):
    suite.offers(ref=1.0, new=1.0)
    suite.tests(FEW.replace("def test", '@pytest.mark.bar("throughput", at_least="1 1/s")\ndef test'))
    ended = suite.run()
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    assert "the blocks of a comparison are no fresh launches" in ended.words


# Who is tested


def test_the_reference_is_not_tested_against_itself(suite):
    suite.offers(ref=1.0, new=1.0, other=1.0)
    suite.tests(
        EQUAL + "\n@pytest.mark.bar('accuracy', at_least=0.9)\ndef test_alone(procure): procure.run()\n"
    )
    ended = suite.run("--procure-report")
    assert set(ended.verdicts) == {
        "test_reads[new]",
        "test_reads[other]",
        "test_alone[ref]",
        "test_alone[new]",
        "test_alone[other]",
    }


def test_a_reference_that_was_not_picked_is_there_all_the_same(suite):
    suite.offers(ref=1.0, new=1.0)
    suite.tests(EQUAL)
    ended = suite.run("--procure-report", "--procure-candidate", "new")
    assert ended.verdicts == {"test_reads[new]": "accept"}
    assert {run["candidate"] for run in ended.results["test_reads[new]"]["runs"]} == {"new", "ref"}


def test_two_references_run_beside_the_candidate(suite):
    suite.offers(ref=1.0, old=0.9, new=1.0)
    suite.tests(
        EQUAL.replace("def test", '@pytest.mark.bar("accuracy", at_least="90 %", of="old")\ndef test')
    )
    ended = suite.run("--procure-report")
    assert [run["candidate"] for run in ended.results["test_reads[new]"]["runs"]] == ["new", "ref", "old"]


# Both are there, and both go


def test_both_are_loaded_for_the_run_and_closed_after_it(suite):
    two(suite)
    suite.tests(FEW)
    suite.run()
    assert sorted(told(suite, "loaded")) == ["new", "ref"]
    assert sorted(told(suite, "closed")) == ["new", "ref"]


@pytest.mark.parametrize(
    "wrong",
    [
        FEW.replace("procure.run()", "procure.run(); raise RuntimeError('tidying up')"),
        EQUAL.replace("warmup=0", "warmup=0, launches=2").replace("single_stream", "offline"),
        "@pytest.mark.dataset_slice(n=9)" + EQUAL,
    ],
    ids=["an error in the test", "launches", "too few samples"],
)
def test_both_are_closed_whatever_goes_wrong(suite, wrong):
    two(suite)
    suite.tests(wrong)
    assert suite.run().status == pytest.ExitCode.TESTS_FAILED
    assert sorted(told(suite, "loaded")) == sorted(told(suite, "closed")) == ["new", "ref"]


def test_a_reference_that_cannot_be_loaded_is_one_sentence_and_the_others_are_closed(suite):
    offers(
        suite,
        ", ".join(f'Candidate("{name}", backend=Telling("{name}"))' for name in ("ref", "broken", "new")),
    )
    suite.tests(
        EQUAL.replace("def test", '@pytest.mark.bar("accuracy", at_least="9 %", of="broken")\ndef test')
    )
    ended = suite.run("--procure-report")
    assert ended.quiet
    problem = "backend Telling could not be loaded: MemoryError: 3 GB wanted"
    assert ended.results["test_reads[new]"]["problem"] == problem
    assert sorted(told(suite, "loaded")) == sorted(told(suite, "closed"))


# Asked the same, in turns


def blocks_of(turns):
    """Runs of one candidate after another: (candidate, numbers)."""
    blocks = []
    for name, number in turns:
        if not blocks or blocks[-1][0] != name or len(blocks[-1][1]) == 4:
            blocks.append((name, []))
        blocks[-1][1].append(number)
    return blocks


def test_both_are_asked_every_item_once_in_the_same_blocks(suite):
    two(suite)
    suite.tests(FEW)
    suite.run()
    blocks = blocks_of(asked(suite))
    assert len(blocks) == 2 * BLOCKS
    for (one, numbers), (other, same) in zip(blocks[::2], blocks[1::2], strict=True):
        assert {one, other} == {"new", "ref"}
        assert numbers == same
    assert len({number for _, numbers in blocks[::2] for number in numbers}) == 40


def test_the_same_seed_gives_the_same_turns_again(suite):
    two(suite)
    suite.tests(FEW)
    turns = []
    for _ in range(2):
        suite.run()
        turns.append(asked(suite))
        (suite.path / "told.txt").unlink()
    assert turns[0] == turns[1]


OWN = {"new": 8, "ref": 4}


def test_each_is_served_by_its_own_batch_policy_and_the_report_says_so(suite):
    offers(
        suite,
        ", ".join(
            f'Candidate("{name}", backend=answers(1.0), max_batch={size})' for name, size in OWN.items()
        ),
    )
    suite.tests(FEW.replace("single_stream", "offline"))
    runs = suite.run("--procure-report").results["test_reads[new]"]["runs"]
    assert {run["candidate"]: run["conditions"]["max_batch"] for run in runs} == OWN


# What the record says


def test_the_record_holds_both_runs_and_their_logs(suite):
    suite.offers(ref=0.9, new=1.0)
    suite.tests(EQUAL)
    ended = suite.run("--procure-report")
    runs = ended.results["test_reads[new]"]["runs"]
    assert [(run["candidate"], run["requests"], run["scores"]["accuracy"]) for run in runs] == [
        ("new", 400, 1.0),
        ("ref", 400, 0.9),
    ]
    logs = [run["log"] for run in runs]
    assert len(set(logs)) == 2
    assert all((ended.folder / log).is_file() for log in logs)


def test_a_reference_that_raises_is_shown(suite):
    two(suite, ref='Telling("ref", fails)')
    suite.tests(FEW)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[new]": "inconclusive"}
    assert "`ref` failed in 40 of 40 requests, so it is no measure for others" in ended.words
    (ref,) = [run for run in ended.results["test_reads[new]"]["runs"] if run["candidate"] == "ref"]
    assert ref["failures"] == {"error": 40}
    assert ref["error_texts"] == ["RuntimeError: out of paper"]


@pytest.mark.parametrize("who", ["new", "ref"])
def test_a_candidate_that_hangs_is_shown_and_accepts_nothing(suite, who):
    two(suite, **{who: f'Telling("{who}", hangs)'})
    suite.tests(FEW.replace("warmup=0", "warmup=0, drain='1 s'"))
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_reads[new]"] in {"inconclusive", "invalid"}  # invalid on a busy machine
    assert ended.quiet
    assert f"a call of `{who}` did not return" in ended.words
    runs = {run["candidate"]: run for run in ended.results["test_reads[new]"]["runs"]}
    assert "a call of the backend did not return" in runs[who]["stopped"]
    assert runs[who]["failures"] == {"lost": 4}


# Mistakes


BAR = 'bar("accuracy", at_least="90 %", of="ref")'


@pytest.mark.parametrize(
    ("bar", "told"),
    [
        ('bar("accuracy", at_least="90 %", of="rev")', "unknown candidate `rev`; did you mean `ref`?"),
        ('bar("accuracy", below="rev", margin=0.02)', "unknown candidate `rev`; did you mean `ref`?"),
        ('bar("latency.p95", below="ref", margin=0.02)', "a margin is for quality; ask for a share, as in"),
        ('bar("accuracy", below="ref")', "expected `below=NAME, margin=0.02` and nothing else"),
        ('bar("accuracy", margin=0.02)', "expected `below=NAME, margin=0.02` and nothing else"),
        ('bar("accuracy", below="ref", margin=2)', "expected a share between 0 and 1, both excluded"),
        ('bar("accuracy", at_least="90 ms", of="ref")', 'a number was expected, as in `at_least="99 %"`'),
        ('bar("accuracy", at_least="90 %", of=3)', "expected a candidate's name, not 3"),
        ('bar("error_rate", at_most="90 %", of="ref")', "`error_rate` cannot be compared between candidates"),
        ('bar("throughput", at_most="90 %", of="ref")', "so it is `at_least=`, not the other way"),
        ('bar("cost_per_request", at_most="90 %", of="ref")', "candidate `ref` has no price"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_comparison_is_one_sentence(suite, bar, told):
    two(suite)
    suite.tests(EQUAL.replace(BAR, bar))
    assert told in suite.mistake()


def test_the_only_candidate_has_nobody_to_be_compared_with(suite):
    suite.offers(ref=1.0)
    suite.tests(EQUAL)
    assert suite.mistake().endswith(
        "there is nobody to compare with: the only candidate is the one compared against"
    )


def not_tested(suite, text):
    two(suite)
    suite.tests(text)
    ended = suite.run("--procure-report")
    assert ended.quiet
    assert ended.verdicts == {"test_reads[new]": "not tested"}
    return ended.results["test_reads[new]"]["problem"]


def test_launches_are_no_blocks(suite):
    text = EQUAL.replace("warmup=0", "launches=2").replace("single_stream", "offline")
    assert not_tested(suite, text) == "a comparison has blocks instead of `launches=`; leave them out"


def test_a_slice_that_is_smaller_than_the_blocks_is_one_sentence(suite):
    assert not_tested(suite, "@pytest.mark.dataset_slice(n=9)" + EQUAL) == (
        "a comparison is cut into 10 blocks, and the slice has 9 sample(s)"
    )


def test_a_candidate_of_the_suites_own_needs_a_reference_that_is_offered(suite):
    suite.conftest(
        CONFTEST
        + "@pytest.fixture(scope='session')\n"
        + "def candidate(): return Candidate('mine', backend=answers(1.0))\n"
    )
    suite.tests(EQUAL)
    ended = suite.run()
    assert ended.quiet
    assert "procure: unknown candidate `ref`. Known: none" in ended.words
