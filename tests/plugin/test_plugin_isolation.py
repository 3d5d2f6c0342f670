"""Offers in processes of their own, in whole sessions: what ends in a finding, and what goes on."""

from __future__ import annotations

import os
import sys

import pytest

OFFERS = """
import ctypes, os, signal, threading

def crashes():
    ctypes.string_at(0)

def leaves():
    os._exit(0)

def hangs():
    threading.Event().wait()

def kills():
    os.kill(os.getpid(), signal.SIGKILL)

class Answers:
    def __init__(self, at=0, what=None):
        self.at, self.what, self.calls = at, what, 0
    def __call__(self, inputs):
        self.calls += 1
        if self.calls == self.at:
            self.what()
        return np.asarray(inputs) %% 10

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [%s]
"""
PROCESS = "[pytest]\nprocure_isolation = process\n"
TESTS = """
@pytest.mark.scenario("single_stream", count=60, warmup=0, timeout="60 s", drain="60 s")
@pytest.mark.bar("accuracy", at_least=0.9)
def test_right(procure):
    '''Right?'''
    procure.run()

@pytest.mark.scenario("single_stream", count=40, warmup=0, timeout="50 s", drain="50 s")
@pytest.mark.bar("error_rate", at_most=0.5)
def test_again(procure):
    '''Still there?'''
    procure.run()
"""
IMPATIENT = TESTS.replace('"60 s"', '"400 ms"')


def written(suite, *candidates, ini=PROCESS, tests=TESTS):
    suite.conftest(OFFERS % ", ".join(candidates))
    suite.write("pytest.ini", ini)
    suite.tests(tests)


def test_an_offer_that_crashes_is_found_out_and_the_session_goes_on(suite):
    names = ("crashes", "leaves", "kills")
    written(
        suite,
        *(f'Candidate("{name}", backend=Answers(50, {name}))' for name in names),
        'Candidate("well", backend=Answers())',
    )
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert ended.quiet
    assert ended.verdicts["test_right[well]"] == "accept"
    for name in names:
        assert ended.verdicts[f"test_again[{name}]"] == "accept"  # in a process of its own again
    assert ended.verdicts["test_right[crashes]"] == ended.verdicts["test_right[leaves]"] == "reject"
    assert ended.verdicts["test_right[kills]"] in {"inconclusive", "reject"}  # never accepted
    assert "crashes: runs of its process without a crash (SIGSEGV) 0 %" in ended.words
    assert "its process ended itself with exit status 0" in ended.words
    (run,) = ended.results["test_right[crashes]"]["runs"]
    assert run["ok"] == 49
    assert run["failures"] == {"error": 1, "lost": 10}
    assert run["stopped"].startswith("its process was ended by SIGSEGV (segmentation fault)")
    assert run["conditions"]["isolation"] == "process"
    assert run["conditions"]["hand_off_p50_us"] > 0


def test_a_crash_stands_against_an_offer_whose_bars_are_met(suite):
    written(
        suite,
        'Candidate("near", backend=Answers(59, leaves))',
        tests=TESTS.replace("at_least=0.9", "at_least=0.5"),
    )
    ended = suite.run("--procure-report")
    findings = {f["title"]: f["verdict"] for f in ended.results["test_right[near]"]["findings"]}
    assert findings == {"runs of its process without an exit (status 0)": "reject", "answers right": "accept"}
    assert ended.status == 1


def test_a_hang_costs_its_own_requirement_only(suite):
    written(suite, 'Candidate("stuck", backend=Answers(50, hangs))', tests=IMPATIENT)
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_right[stuck]"] != "accept"
    assert ended.verdicts["test_again[stuck]"] == "accept"
    assert "runs of its process without a hang" in ended.words


def test_an_offer_that_crashes_when_it_is_loaded_is_not_tested(suite):
    suite.conftest(
        OFFERS % 'Candidate("broken", backend=Broken()), Candidate("well", backend=Answers())'
        + "class Broken:\n    def load(self, base):\n        crashes()\n"
    )
    suite.write("pytest.ini", PROCESS)
    suite.tests(TESTS)
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_right[broken]"] == "not tested"
    assert "could not be loaded in a process of its own: its process was ended by SIGSEGV" in ended.words
    assert ended.verdicts["test_right[well]"] == "accept"
    assert ended.quiet


def test_both_sides_of_a_comparison_may_have_processes_of_their_own(suite):
    bar = '@pytest.mark.bar("accuracy", at_least="90 %", of="ref")'
    written(
        suite,
        'Candidate("ref", backend=Answers())',
        'Candidate("same", backend=Answers(), isolation="none")',
        'Candidate("gone", backend=Answers(150, leaves))',
        tests=f"""
        {bar}
        @pytest.mark.scenario("single_stream", warmup=0)
        def test_as_good(procure):
            procure.run()
        """,
    )
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_as_good[same]"] == "accept"
    assert ended.verdicts["test_as_good[gone]"] == "reject"
    assert "the process of `gone` ended in the run" in ended.words
    ways = {
        run["candidate"]: run["conditions"]["isolation"]
        for run in ended.results["test_as_good[same]"]["runs"]
    }
    assert ways == {"ref": "process", "same": "none"}


def test_each_launch_has_a_fresh_process_and_a_crash_ends_them(suite):
    tests = """
    @pytest.mark.scenario("offline", count=40, launches=3, warmup=0)
    def test_quick(procure):
        result = procure.run()
        print("PIDS", len(set(result.answers)))
        assert result.error_rate <= 0.5
    """
    suite.conftest(
        OFFERS % 'Candidate("teller", backend=Tells()), Candidate("gone", backend=Answers(30, leaves))'
        + "class Tells:\n    def __call__(self, inputs):\n        return [os.getpid()] * len(inputs)\n"
    )
    suite.write("pytest.ini", PROCESS)
    suite.tests(tests)
    ended = suite.run("--procure-report", "-rP")
    assert "PIDS 3" in ended.text
    (run,) = ended.results["test_quick[gone]"]["runs"]
    assert run["requests"] == 40


def test_a_backend_of_the_tests_own_gets_a_process_too(suite):
    written(
        suite,
        'Candidate("well", backend=Answers())',
        tests="""
        import conftest
        def test_own(procure):
            result = procure.run("offline", backend=conftest.Answers(3, conftest.leaves), count=9, warmup=0)
            assert result.error_rate <= 0.99
        """,
    )
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_own[well]"] == "reject"
    assert "its process ended itself with exit status 0" in ended.words


# Where it is declared


def test_the_suites_setting_holds_for_candidates_that_do_not_say(suite):
    tests = """
    def test_it(procure):
        result = procure.run()
        print("WAY", procure.candidate.name, result.execution.launches[0].conditions["isolation"])
        assert result.error_rate <= 0.5
    """
    three = (
        'Candidate("a", backend=Answers())',
        *(f'Candidate("{way}", backend=Answers(), isolation="{way}")' for way in ("process", "none")),
    )
    written(suite, *three, tests=tests)
    told = suite.run("-rP").text
    assert all(line in told for line in ("WAY a process", "WAY process process", "WAY none none"))
    written(suite, *three, tests=tests, ini="[pytest]\n")
    told = suite.run("-rP").text
    assert all(line in told for line in ("WAY a none", "WAY process process", "WAY none none"))


@pytest.mark.parametrize(
    ("candidate", "ini", "told"),
    [
        ('"a", backend=Answers(), isolation="proces"', PROCESS, "did you mean `process`?"),
        ('"a", backend=Answers()', PROCESS.replace("process", "proces"), "did you mean `process`?"),
        ('"a", backend=Answers(), memory_limit="4 GB"', "[pytest]\n", "add `isolation='process'`"),
        ('"a", backend=Answers(), memory_limit="4 s"', PROCESS, "expected for example `4 GB`"),
        ('"a", backend=Answers(), memory_limit="0 GB"', PROCESS, "expected for example `4 GB`"),
    ],
)
def test_a_mistake_is_a_usage_error(suite, candidate, ini, told):
    written(suite, f"Candidate({candidate})", ini=ini, tests="def test_it(procure):\n    procure.run()\n")
    assert told in suite.mistake()


def test_what_cannot_be_sent_there_says_so_in_one_line(suite):
    written(suite, 'Candidate("closure", backend=answers(0.5))')
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_right[closure]"] == "not tested"
    assert (
        "`conftest.answers.<locals>.answer` is defined inside a function; write it at the top level"
        in ended.words
    )
    assert ended.quiet


def test_a_loaded_backend_cannot_be_moved(suite):
    suite.conftest(
        OFFERS % 'Candidate("a", backend=Answers(), isolation="process")'
        + '@pytest.fixture\ndef backend():\n    return Function(Answers()).load(".")\n'
    )
    suite.tests(TESTS)
    ended = suite.run("--procure-report")
    assert ended.verdicts["test_right[a]"] == "not tested"
    assert "gave a loaded LoadedFunction, which cannot be moved into a process of its own" in ended.words


def test_labels_are_not_handed_over(suite):
    suite.write("labels_of_ours.py", "LABELS = list(range(10))\n")
    suite.conftest(
        OFFERS % 'Candidate("nosy", backend=Nosy())'
        + """
class Nosy:
    def __call__(self, inputs):
        import sys
        assert "labels_of_ours" not in sys.modules, "seen"
        return inputs % 10

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    def make():
        from labels_of_ours import LABELS
        return numbers()
    return {"numbers": make}
"""
    )
    suite.write("pytest.ini", PROCESS)
    suite.tests(TESTS)
    assert suite.run("--procure-report").status == 0


# In this process


@pytest.mark.parametrize("how", ["os._exit(0)", "os.execv('/bin/true', ['true'])", "posix._exit(0)"])
def test_nobody_ends_the_session_green_from_inside(suite, how):
    suite.conftest(
        OFFERS.replace("os._exit(0)", how).replace("import ctypes,", "import posix, ctypes,")
        % 'Candidate("quitter", backend=Answers(50, leaves))'
    )
    suite.tests(TESTS)
    ended = suite.run("--procure-report", process=True)
    (run,) = ended.results["test_right[quitter]"]["runs"]
    assert run["failures"] == {"error": 1}
    assert run["error_texts"][0].startswith("ProcessExit: os.")
    assert ended.outcomes.get("passed", 0) + ended.outcomes.get("failed", 0) == 2


def test_a_thread_that_ends_the_session_does_not_end_it_green(suite):
    suite.conftest(
        OFFERS.replace(
            "    os._exit(0)", "    threading.Thread(target=os._exit, args=(0,)).start()\n    hangs()"
        )
        % 'Candidate("quitter", backend=Answers(50, leaves))'
    )
    suite.tests(IMPATIENT)
    ended = suite.run(process=True)
    assert ended.status == 3
    assert (
        "ERROR: procure: os._exit(0) was called, which would have ended the whole test session" in ended.text
    )


def test_the_ways_out_are_given_back(suite):
    before = os._exit, os.execv, sys.modules["posix"]._exit
    written(suite, 'Candidate("well", backend=Answers())', ini="[pytest]\n")
    assert suite.run().status == 0
    assert (os._exit, os.execv, sys.modules["posix"]._exit) == before


def test_a_forked_process_may_end_as_it_likes(suite):
    suite.conftest(
        OFFERS.replace(
            "    os._exit(0)",
            "    pid = os.fork()\n    pid or os._exit(5)\n    assert os.waitpid(pid, 0)[1] == 5 << 8",
        )
        % 'Candidate("forks", backend=Answers(50, leaves))'
    )
    suite.tests(TESTS)
    assert suite.run(process=True).status == 0
