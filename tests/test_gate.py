import itertools

import pytest

from pytest_procure.gate import Expected, Gate

OFFER = {"vendor": "", "precision": "", "hardware": "", "price": None, "notes": ""}


def gate(award="all", **outcomes):
    """A gate that expects one test of each candidate; a verdict of None never came in."""
    made = Gate(award=award)
    for name, verdict in outcomes.items():
        expect(made, name, verdict)
    return made


def expect(made, name, verdict, test="test_a", problem=""):
    expected = Expected(f"t.py::{test}", "Is it good?", "Offline", f"t.py::{test}[{name}]", name)
    made.expect([expected], {name: {"name": name, **OFFER}})
    if verdict is not None:
        made.receive(result(expected.test, name, verdict, problem), {})
    if verdict not in {None, "accept", "waived"}:
        made.failed.add(expected.test)
        if problem:
            made.not_bars.add(expected.test)


def result(test, candidate, verdict, problem=""):
    return {
        "candidate": candidate,
        "test": test,
        "verdict": verdict,
        "sentence": f"{candidate}: {verdict}",
        "problem": problem,
        "findings": [],
        "not_reached": [],
        "runs": [],
    }


def concluded(made, status=None):
    """Conclude with pytest's own status, which is 1 when a test failed."""
    requirements, candidates, outcome = made.conclude((1 if made.failed else 0) if status is None else status)
    assert outcome["accepted"] == (outcome["exit_status"] == 0)
    assert bool(outcome["reasons"]) == (outcome["exit_status"] != 0)
    return requirements, {each["name"]: each["verdict"] for each in candidates}, outcome


def status(made, **more):
    return concluded(made, **more)[2]["exit_status"]


WORDS = ["accept", "waived", "reject", "inconclusive", "not tested", "invalid", None]


@pytest.mark.parametrize("verdict", WORDS)
def test_only_an_accepted_or_waived_offer_ends_with_0(verdict):
    assert status(gate(only=verdict)) == (0 if verdict in {"accept", "waived"} else 1)


@pytest.mark.parametrize(("one", "other"), [*itertools.product(WORDS, WORDS)])
def test_all_candidates_have_to_pass_under_all_and_one_under_any(one, other):
    passed = [verdict in {"accept", "waived"} for verdict in (one, other)]
    assert (status(gate("all", one=one, other=other)) == 0) == all(passed)
    assert (status(gate("any", one=one, other=other)) == 0) == any(passed)


def test_a_requirement_that_never_came_in_is_not_tested():
    made = gate(only="accept")
    expect(made, "only", None, test="test_b")
    requirements, verdicts, outcome = concluded(made)
    assert requirements[1]["results"][0]["verdict"] == "not tested"
    assert verdicts == {"only": "not tested"}
    assert outcome["sentence"] == "only is not accepted, because it is not fully tested."


def test_a_requirement_that_was_deselected_says_so():
    made = gate(only=None)
    made.deselected.add("t.py::test_a[only]")
    (requirement,), _, _ = concluded(made)
    assert requirement["results"][0]["problem"] == "it was deselected"


@pytest.mark.parametrize(("ended", "how"), [(2, "interrupted"), (137, "killed")])
def test_a_requirement_after_an_interruption_says_so(ended, how):
    made = gate(first="accept", second=None)
    requirements, _, _ = made.conclude(ended)
    told = requirements[0]["results"][1]["problem"]
    assert told == f"it never ran: the session was {how} before it"


def test_nothing_expected_is_not_accepted():
    _, _, outcome = concluded(gate())
    assert (outcome["exit_status"], outcome["reasons"]) == (1, ["no requirement was found"])
    assert outcome["sentence"] == "Nothing was tested."


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        (["accept", "reject", "invalid", "not tested", "inconclusive"], "reject"),
        (["accept", "invalid", "not tested", "inconclusive"], "invalid"),
        (["accept", "not tested", "inconclusive"], "not tested"),
        (["accept", "inconclusive"], "inconclusive"),
    ],
)
def test_the_worst_requirement_speaks_for_the_offer(verdicts, worst):
    made = Gate()
    for number, verdict in enumerate(verdicts):
        expect(made, "only", verdict, test=f"test_{number}")
    assert concluded(made)[1] == {"only": worst}


@pytest.mark.parametrize("award", ["all", "any"])
def test_a_foreign_failure_ends_with_1(award):
    made = gate(award, good="accept")
    made.failed.add("t.py::test_foreign")
    _, _, outcome = concluded(made)
    assert outcome["exit_status"] == 1
    assert outcome["reasons"] == ["1 failed otherwise than by a bar: t.py::test_foreign"]


@pytest.mark.parametrize("award", ["all", "any"])
def test_a_failure_of_an_accepted_requirement_ends_with_1(award):
    made = gate(award, good="accept")
    made.failed.add("t.py::test_a[good]")
    assert status(made) == 1


def test_under_any_a_bar_that_another_candidate_failed_is_forgiven():
    assert status(gate("any", good="accept", bad="reject")) == 0


def test_under_any_an_error_of_another_candidate_is_not_forgiven():
    made = gate("any", good="accept")
    expect(made, "bad", "inconclusive", problem="RuntimeError: broken")
    assert status(made) == 1


def test_under_any_one_candidate_has_to_meet_everything():
    made = gate("any", one="accept", other="reject")
    expect(made, "one", "reject", test="test_b")
    expect(made, "other", "accept", test="test_b")
    assert status(made) == 1


@pytest.mark.parametrize("broken", [2, 3, 4])
@pytest.mark.parametrize("award", ["all", "any"])
def test_a_session_that_broke_off_keeps_its_status(award, broken):
    assert status(gate(award, good="accept"), status=broken) == broken


def test_a_status_of_another_plugins_making_is_kept():
    assert status(gate(good="accept"), status=7) == 7


def test_pytest_saying_1_without_a_failure_is_believed():
    assert status(gate(good="accept"), status=1) == 1


def test_the_first_of_several_runs_decides():
    made = gate(only="reject")
    for _ in range(2):
        made.receive(result("t.py::test_a[only]", "only", "accept"), {})
    assert concluded(made)[1] == {"only": "reject"}
    assert made.rerun == {"t.py::test_a[only]": 3}


def test_what_a_backend_discloses_is_kept_for_its_candidate():
    made = gate(only=None)
    made.receive(result("t.py::test_a[only]", "only", "accept"), {"runtime": "Python"})
    _, (candidate,), _ = made.conclude(0)
    assert candidate["backend"] == {"runtime": "Python"}


def test_results_of_one_requirement_stand_together():
    made = gate(one="accept", other="accept")
    (requirement,), _, _ = concluded(made)
    assert (requirement["id"], requirement["question"]) == ("t.py::test_a", "Is it good?")
    assert [each["candidate"] for each in requirement["results"]] == ["one", "other"]


@pytest.mark.parametrize("verdict", WORDS[:-1])
def test_the_sentence_says_of_each_offer_what_became_of_it(verdict):
    _, _, outcome = concluded(gate(acme=verdict))
    assert outcome["sentence"].startswith(
        "acme is accepted" if verdict in {"accept", "waived"} else "acme is not"
    )
