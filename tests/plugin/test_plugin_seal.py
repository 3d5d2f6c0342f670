"""`--procure-seal`: what is fixed before anything is measured, and what a later run says of it."""

import json
import shutil

import pytest
from sealed_suite import INI, READS, WRITES, kept_out, ledger, seal, spec

# -- what is sealed ---------------------------------------------------------------------------------------


def test_sealing_measures_nothing(suite):
    suite.conftest("""
        def answer(inputs):
            raise SystemExit("asked")
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    assert suite.run("--procure-seal").status == 0
    assert [entry["event"] for entry in ledger(suite)] == ["seal"]


def test_the_spec_says_what_was_sealed(sealed):
    told = spec(sealed)
    (subject,) = told["requirements"]
    requirement = told["requirements"][subject]
    assert subject == "test_it.py::test_reads"
    assert requirement["question"] == "Does it read?"
    assert (requirement["owner"], requirement["risk"]) == ("post room", "letters go astray")
    assert requirement["scenario"]["count"] == 400
    (bar,) = requirement["bars"]
    assert (bar["metric"], bar["sense"], bar["value"], bar["design"]) == (
        "accuracy",
        "at least",
        "0.9",
        "0.97",
    )
    offer = requirement["offers"]["good"]
    assert offer["test"] == "test_it.py::test_reads[good]"
    assert len(told["datasets"][offer["slice"]]["items"]) == 400
    assert told["candidates"]["good"]["disclosed"]["source_sha256"]
    assert told["candidates"]["good"]["stated"]["price"]["amount"] == "1"
    assert told["expires"] == "2999-12-31"
    assert list(told["files"]) == ["conftest.py"]


def test_the_same_suite_gives_the_same_bytes(sealed):
    before = (sealed.path / "procure-spec.json").read_bytes()
    assert "nothing differs from what was sealed before" in sealed.run("--procure-seal").text
    assert (sealed.path / "procure-spec.json").read_bytes() == before


def test_the_salt_stays_out_of_the_spec_and_out_of_git(sealed):
    salt = (sealed.path / ".procure" / "salt").read_text().strip()
    assert salt not in (sealed.path / "procure-spec.json").read_text()
    assert (sealed.path / ".procure" / ".gitignore").read_text() == "*\n"
    assert (sealed.path / ".procure" / "salt").stat().st_mode & 0o077 == 0


def test_another_salt_gives_other_items(sealed):
    before = spec(sealed)["datasets"]["numbers"]["items"]
    (sealed.path / ".procure" / "salt").unlink()
    seal(sealed)
    assert not set(before) & set(spec(sealed)["datasets"]["numbers"]["items"])


def test_sealing_again_says_what_is_other_than_before(sealed):
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    ended = sealed.run("--procure-seal")
    assert (
        "other than before: test_it.py::test_reads: bar `accuracy` is loosened, from at least 0.9 as sealed "
        "to at least 0.8"
    ) in ended.words
    assert [entry["event"] for entry in ledger(sealed)] == ["seal", "seal"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-k", "reads"), "the command deselects test_it.py::test_writes[good]"),
        (("test_it.py::test_reads",), "the command names single tests"),
        (("--procure-candidate", "good"), "leave `--procure-candidate` out"),
        (("--procure-report",), "leave `--procure-report` out"),
        (("--procure-screen",), "leave `--procure-screen` out"),
    ],
)
def test_a_part_of_a_suite_is_not_sealed(suite, arguments, sentence):
    suite.offers(good=1.0)
    suite.tests(READS + WRITES)
    assert sentence in suite.mistake("--procure-seal", *arguments)
    assert not (suite.path / "procure-spec.json").exists()


@pytest.mark.parametrize(
    "mark", ["@pytest.mark.skip(reason='later')", "@pytest.mark.skipif(True, reason='later')"]
)
def test_a_requirement_that_would_be_skipped_is_not_sealed(suite, mark):
    suite.offers(good=1.0)
    suite.tests(mark + READS)
    assert "test_it.py::test_reads[good] cannot be sealed: Skipped: later" in suite.mistake("--procure-seal")


def test_a_candidate_that_cannot_be_loaded_is_not_sealed(suite):
    suite.conftest("""
        class Broken:
            def load(self, base): raise OSError("no such device")
        def pytest_procure_candidates():
            return [Candidate("broken", backend=Broken())]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    assert "no such device" in suite.mistake("--procure-seal")


def test_a_suite_without_requirements_is_not_sealed(suite):
    suite.tests("def test_foreign(): pass")
    assert "no requirement to seal" in suite.mistake("--procure-seal")


# -- a run against the seal -------------------------------------------------------------------------------


def test_a_run_as_sealed_is_accepted(sealed):
    ended = sealed.run("--procure-report")
    assert ended.status == 0
    assert ended.record["seal"]["state"] == "sealed"
    assert ended.record["seal"]["differences"] == []
    assert "Run 1 of 1" in ended.words


def test_a_run_that_is_not_sealed_is_not_accepted_where_a_seal_is_required(suite):
    suite.write("pytest.ini", INI)
    suite.offers(good=1.0)
    suite.tests(READS)
    record = kept_out(suite.run("--procure-report"), "the suite is not sealed")
    assert record["seal"]["state"] == "unsealed"


def test_without_the_setting_a_run_need_not_be_sealed_and_says_so(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    assert ended.status == 0
    assert "Nothing was sealed before this run" in (ended.folder / "report.html").read_text("utf-8")


def test_a_moved_bar_keeps_the_offer_from_acceptance(sealed):
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    record = kept_out(
        sealed.run("--procure-report"),
        "bar `accuracy` is loosened, from at least 0.9 as sealed to at least 0.8",
    )
    assert record["seal"]["state"] == "deviating"
    (run,) = record["ledger"]["runs"]
    assert (run["verdict"], run["as_sealed"]) == ("accept", False)


def test_a_moved_bar_is_held_against_the_offer_without_the_setting_too(sealed):
    sealed.write("pytest.ini", "[pytest]\nprocure_expires = 2999-12-31\n")
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    kept_out(sealed.run("--procure-report"), "bar `accuracy` is loosened")


def test_a_bar_moved_in_an_assert_keeps_the_offer_from_acceptance(suite):
    asserted = "def test_reads(procure):\n    result = procure.run()\n    assert result.accuracy >= 0.9\n"
    suite.offers(good=1.0)
    suite.tests(asserted)
    seal(suite)
    suite.tests(asserted.replace("0.9", "0.8"))
    kept_out(suite.run("--procure-report"), "`assert result.accuracy >= 0.9` was sealed")


def test_a_bar_moved_in_a_helper_keeps_the_offer_from_acceptance(suite):
    suite.write("limits.py", "LIMIT = 0.9\n")
    suite.offers(good=1.0)
    suite.tests("""
        from limits import LIMIT
        def test_reads(procure):
            assert procure.run().accuracy >= LIMIT
    """)
    seal(suite)
    suite.write("limits.py", "LIMIT = 0.8\n")
    kept_out(suite.run("--procure-report"), "limits.py: the file was changed after the seal")


def test_a_constant_moved_beside_the_test_keeps_the_offer_from_acceptance(suite):
    asserted = "LIMIT = 0.9\ndef test_reads(procure):\n    assert procure.run().accuracy >= LIMIT\n"
    suite.offers(good=1.0)
    suite.tests(asserted)
    seal(suite)
    suite.tests(asserted.replace("0.9", "0.8"))
    kept_out(suite.run("--procure-report"), "the source of its test was changed after the seal")


def test_a_bar_that_is_gone_keeps_the_offer_from_acceptance(suite):
    more = READS.replace(
        "@pytest.mark.scenario", '@pytest.mark.bar("latency.p95", at_most="9 s")\n@pytest.mark.scenario'
    )
    suite.offers(good=1.0)
    suite.tests(more)
    seal(suite)
    suite.tests(READS)
    kept_out(suite.run("--procure-report"), "bar `latency.p95` was sealed (at most 9 s) and is missing")


def test_fewer_requests_keep_the_offer_from_acceptance(sealed):
    sealed.tests(READS.replace("count=400", "count=200"))
    kept_out(sealed.run("--procure-report"), "`count` is loosened, from 400 as sealed to 200")


def test_a_bigger_risk_keeps_the_offer_from_acceptance(sealed):
    sealed.write("pytest.ini", INI + "procure_consumer_risk = 0.2\n")
    kept_out(sealed.run("--procure-report"), "`consumer_risk` is loosened, from 0.05 as sealed to 0.2")


def test_another_award_keeps_the_offer_from_acceptance(sealed):
    kept_out(
        sealed.run("--procure-report", "--procure-award", "any"),
        "`award` is loosened, from all as sealed to any",
    )


def test_a_dropped_item_keeps_the_offer_from_acceptance(suite):
    suite.write("pytest.ini", INI)
    suite.offers(good=1.0)
    suite.tests(READS)
    seal(suite)
    suite.offers(good=1.0).write_text(
        (suite.path / "conftest.py").read_text("utf-8").replace("def numbers(n=400", "def numbers(n=399")
    )
    kept_out(suite.run("--procure-report"), "1 of the 400 sealed items of `numbers` is missing from the run")


def test_an_item_swapped_for_another_keeps_the_offer_from_acceptance(sealed):
    conftest = sealed.path / "conftest.py"
    conftest.write_text(
        conftest.read_text("utf-8").replace("inputs = np.arange(n)", "inputs = np.arange(n) + 1")
    )
    record = kept_out(sealed.run("--procure-report"), "1 of the 400 sealed items of `numbers` is missing")
    assert "1 items of `numbers` were not sealed" in json.dumps(record)


@pytest.mark.parametrize("given", ["given=0.9", "given=1.0"])
def test_a_swapped_model_keeps_the_offer_from_acceptance(suite, given):
    """The file is what counts, whatever the suite says of it."""
    suite.write("pytest.ini", INI)
    suite.write("model.txt", "1.0")
    suite.conftest("""
        import hashlib

        class Model:
            device, releases_gil = "cpu", False
            def load(self, base):
                self.text = (base / "model.txt").read_text()
                return self
            def predict(self, inputs): return answers(float(self.text.split()[0]))(inputs)
            def describe(self):
                return {"runtime": "toy 1.0", "files": [{"file": "model.txt",
                        "sha256": hashlib.sha256(self.text.encode()).hexdigest()}]}
            def close(self): pass
        def pytest_procure_candidates():
            return [Candidate("good", backend=Model())]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS)
    seal(suite)
    suite.write("model.txt", f"1.0 {given}")
    kept_out(
        suite.run("--procure-report", "--procure-deviation", "good: retrained; the buyer"),
        "good: the model is not the sealed one: `files / 1 / sha256` was",
    )


def test_a_model_that_is_swapped_between_two_launches_keeps_the_offer_from_acceptance(suite):
    suite.conftest("""
        loads = []
        class Model:
            device, releases_gil = "cpu", False
            def load(self, base):
                loads.append(base)
                return self
            def predict(self, inputs): return answers(1.0)(inputs)
            def describe(self): return {"runtime": "toy 1.0", "sha256": str(min(len(loads), 5))}
            def close(self): pass
        def pytest_procure_candidates():
            return [Candidate("good", backend=Model())]
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests(READS.replace('"single_stream", count=400', '"offline", launches=5'))
    seal(suite)
    sealed_as = (suite.path / "procure-spec.json").read_text()
    assert '"sha256": "1"' in sealed_as
    kept_out(suite.run("--procure-report"), "the model is not the sealed one: `sha256` was 1 and is 2")


def test_a_candidate_that_is_compared_with_is_held_to_the_seal_too(suite):
    def conftest(model):
        suite.write("other.txt", model)
        suite.conftest("""
            from pathlib import Path
            class Model:
                device, releases_gil = "cpu", False
                def load(self, base):
                    self.text = (base / "other.txt").read_text()
                    return self
                def predict(self, inputs): return answers(0.9)(inputs)
                def describe(self): return {"runtime": "toy 1.0", "sha256": self.text}
                def close(self): pass
            def pytest_procure_candidates():
                return [Candidate("good", backend=answers(1.0)), Candidate("old", backend=Model())]
            def pytest_procure_datasets():
                return {"numbers": numbers}
        """)

    conftest("first")
    suite.tests("""
        @pytest.mark.bar("accuracy", at_least=0.8)
        def test_reads(procure): procure.run()

        @pytest.mark.bar("accuracy", at_least="99 %", of="old")
        def test_beats_the_old_one(procure): procure.run()
    """)
    seal(suite)
    conftest("second")
    kept_out(
        suite.run("--procure-report", "--procure-candidate", "good"), "old: the model is not the sealed one"
    )


def test_another_scorer_keeps_the_offer_from_acceptance(suite):
    def conftest(limit):
        suite.conftest(f"""
            def close(output, reference) -> bool:
                return abs(output - reference) <= {limit}
            def pytest_procure_candidates():
                return [Candidate("good", backend=answers(1.0))]
            def pytest_procure_datasets():
                return {{"numbers": numbers(scorer={{"accuracy": "accuracy", "close": close}})}}
        """)

    conftest(0)
    suite.tests(READS)
    seal(suite)
    conftest(9)
    kept_out(suite.run("--procure-report"), "scorer `quality.close / source` was sealed as")


def test_clusters_taken_apart_keep_the_offer_from_acceptance(suite):
    suite.write("clusters.txt", "10")
    suite.conftest("""
        from pathlib import Path
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(1.0))]
        def pytest_procure_datasets():
            size = int((Path(__file__).parent / "clusters.txt").read_text())
            return {"numbers": numbers(clusters=np.arange(400) // size)}
    """)
    suite.tests(READS)
    seal(suite)
    suite.write("clusters.txt", "1")
    kept_out(suite.run("--procure-report"), "strata or clusters of `numbers` are not as sealed")


def test_another_price_keeps_the_offer_from_acceptance(sealed):
    conftest = sealed.path / "conftest.py"
    conftest.write_text(conftest.read_text("utf-8").replace('HourlyPrice("1 USD"', 'HourlyPrice("0.5 USD"'))
    kept_out(sealed.run("--procure-report"), "good: `price / amount` was sealed as 1 and is 0.5")


def test_a_requirement_that_is_not_pre_registered_is_named(sealed):
    sealed.tests(READS + WRITES)
    kept_out(sealed.run("--procure-report"), "test_it.py::test_writes: the requirement is not pre-registered")


def test_a_candidate_that_is_not_pre_registered_is_named(sealed):
    sealed.offers(good=1.0, late=1.0)
    ended = sealed.run("--procure-report")
    assert ended.status == 1
    assert "late: the candidate is not pre-registered" in ended.words


def test_an_edited_spec_is_no_seal(sealed):
    path = sealed.path / "procure-spec.json"
    path.write_text(path.read_text("utf-8").replace('"value": "0.9"', '"value": "0.8"'))
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    assert "procure-spec.json is not the spec that was sealed last" in sealed.mistake("--procure-report")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "pytest-procure/spec", "version": 1}'])
def test_a_damaged_spec_is_a_mistake_in_one_line(sealed, text):
    (sealed.path / "procure-spec.json").write_text(text)
    assert "seal again with `pytest --procure-seal`" in sealed.mistake()


def test_an_expired_seal_accepts_nothing(suite):
    suite.write("pytest.ini", "[pytest]\nprocure_expires = 2020-01-31\n")
    suite.offers(good=1.0)
    suite.tests(READS)
    seal(suite)
    record = kept_out(suite.run("--procure-report"), "the seal expired on 2020-01-31")
    assert record["seal"]["state"] == "expired"


def test_a_later_expiry_than_sealed_is_loosened(sealed):
    sealed.write("pytest.ini", INI.replace("2999-12-31", "3999-12-31"))
    kept_out(
        sealed.run("--procure-report"), "the expiry is loosened, from 2999-12-31 as sealed to 3999-12-31"
    )


def test_a_lost_salt_accepts_nothing(sealed):
    (sealed.path / ".procure" / "salt").unlink()
    kept_out(sealed.run("--procure-report"), "the salt is lost")


def test_the_salt_may_come_from_the_environment(sealed, monkeypatch):
    salt = sealed.path / ".procure" / "salt"
    monkeypatch.setenv("PROCURE_SALT", salt.read_text().strip())
    shutil.rmtree(sealed.path / ".procure")
    assert sealed.run("--procure-report").status == 0


def test_another_salt_is_told_from_the_sealed_one(sealed):
    (sealed.path / ".procure" / "salt").write_text("0" * 64)
    assert "the salt in .procure/salt is not the one" in sealed.mistake()


# -- deviations -------------------------------------------------------------------------------------------


def test_a_declared_deviation_is_shown_and_lets_pass(sealed):
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.95"))
    ended = sealed.run(
        "--procure-report", "--procure-deviation", "test_it.py::test_reads: the committee asked; A. Buyer"
    )
    assert ended.status == 0
    assert ended.record["ledger"]["runs"][0]["as_sealed"] is True
    (deviation,) = ended.record["deviations"]
    assert deviation == {
        "id": "test_it.py::test_reads",
        "reason": "the committee asked",
        "approver": "A. Buyer",
        "used": True,
    }
    assert "(declared: the committee asked; approved by A. Buyer)" in ended.words
    assert "approved by A. Buyer" in (ended.folder / "report.html").read_text("utf-8")


def test_a_loosened_bar_cannot_be_declared_away(sealed):
    sealed.tests(READS.replace("at_least=0.9", "at_least=0.8"))
    ended = sealed.run(
        "--procure-report", "--procure-deviation", "test_it.py::test_reads: easier; the vendor"
    )
    kept_out(ended, "a declaration does not let this pass")


def test_a_deviation_from_nothing_is_shown(sealed):
    ended = sealed.run("--procure-report", "--procure-deviation", "good: a new driver; A. Buyer")
    assert ended.status == 0
    assert "A deviation was declared of good, where the run is as sealed" in ended.words


@pytest.mark.parametrize("told", ["good", "good: no approver", ": x; y", "good: ; y", "good: x;"])
def test_a_deviation_without_reason_or_approver_is_a_mistake(sealed, told):
    assert "expected 'ID: reason; approver'" in sealed.mistake("--procure-deviation", told)


def test_a_deviation_of_what_is_not_there_is_a_mistake(sealed):
    said = sealed.mistake("--procure-deviation", "test_it.py::test_raeds: typo; A. Buyer")
    assert "did you mean `test_it.py::test_reads`?" in said


# -- requirements left out --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-k", "writes"), "it was deselected"),
        (("--deselect", "test_it.py::test_reads"), "it was deselected"),
        (
            ("test_it.py::test_writes",),
            "it is sealed, and was left out of this run; the command names other tests",
        ),
    ],
)
def test_a_requirement_left_out_by_the_command_keeps_the_offer_from_acceptance(
    sealed_two, arguments, sentence
):
    ended = sealed_two.run("--procure-report", *arguments)
    record = kept_out(ended, sentence)
    assert ended.verdicts == {"test_reads[good]": "not tested", "test_writes[good]": "accept"}
    assert record["outcome"]["sentence"] == "good is not accepted, because it is not fully tested."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--ignore=test_other.py",), "the command ignores"),
        (("test_it.py",), "the command names test_it.py"),
    ],
)
def test_a_file_left_out_by_the_command_keeps_the_offer_from_acceptance(suite, arguments, sentence):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.tests(WRITES, name="test_other.py")
    seal(suite)
    ended = suite.run("--procure-report", *arguments)
    kept_out(ended, f"it is sealed, and was left out of this run; {sentence}")
    assert ended.verdicts["test_writes[good]"] == "not tested"


def test_helpers_of_a_requirement_that_is_left_out_are_not_called_missing(suite):
    suite.write("helper.py", "")
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.tests("import helper\n" + WRITES, name="test_other.py")
    seal(suite)
    ended = suite.run("--procure-report", "test_it.py")
    kept_out(ended, "it is sealed, and was left out of this run")
    assert ended.record["seal"]["differences"] == []


def test_a_requirement_that_was_deleted_keeps_the_offer_from_acceptance(sealed_two):
    sealed_two.tests(READS)
    kept_out(sealed_two.run("--procure-report"), "it is sealed, and was left out of this run; no such test")


@pytest.mark.parametrize(
    "mark", ["@pytest.mark.skip(reason='later')", "@pytest.mark.skipif(True, reason='later')"]
)
def test_a_requirement_that_is_skipped_keeps_the_offer_from_acceptance(sealed_two, mark):
    sealed_two.tests(mark + READS + WRITES)
    kept_out(sealed_two.run("--procure-report"), "good: Skipped: later")


def test_a_requirement_that_is_marked_xfail_keeps_the_offer_from_acceptance(suite):
    suite.offers(good=0.5)
    suite.tests("@pytest.mark.xfail(reason='known')" + READS)
    seal(suite)
    kept_out(suite.run("--procure-report"), "marked xfail, which is no waiver")


def test_a_session_stopped_at_its_first_failure_keeps_the_offer_from_acceptance(suite):
    suite.offers(good=0.5)
    suite.tests(READS + WRITES)
    seal(suite)
    kept_out(suite.run("--procure-report", "-x"), "the session stopped before it (stopping after 1 failures)")


def test_a_file_that_cannot_be_collected_keeps_the_offer_from_acceptance(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.tests(WRITES, name="test_other.py")
    seal(suite)
    suite.write("test_other.py", "import no_such_module")
    kept_out(
        suite.run("--procure-report", "--continue-on-collection-errors"), "its file could not be collected"
    )


def test_a_file_that_is_skipped_keeps_the_offer_from_acceptance(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    suite.tests(WRITES, name="test_other.py")
    seal(suite)
    suite.tests("pytest.skip('not today', allow_module_level=True)" + WRITES, name="test_other.py")
    kept_out(suite.run("--procure-report"), "its file was skipped")


def test_where_a_seal_is_required_a_command_without_any_requirement_accepts_nothing(sealed):
    sealed.write("test_unit.py", "def test_unit(): pass")
    ended = sealed.run("--procure-report", "test_unit.py")
    kept_out(ended, "it is sealed, and was left out of this run; the command names test_unit.py")


def test_a_candidate_that_the_command_does_not_name_is_not_asked_for(suite):
    suite.write("pytest.ini", INI)
    suite.offers(good=1.0, other=1.0)
    suite.tests(READS)
    seal(suite)
    assert suite.run("--procure-report", "--procure-candidate", "good").status == 0


def test_under_award_any_all_sealed_candidates_share_the_risk_whoever_is_asked(suite):
    suite.write("pytest.ini", INI)
    suite.offers(good=1.0, other=1.0)
    suite.tests(READS)
    assert suite.run("--procure-seal", "--procure-award", "any").status == 0
    ended = suite.run("--procure-report", "--procure-award", "any", "--procure-candidate", "good")
    (finding,) = ended.results["test_reads[good]"]["findings"]
    assert finding["confidence"] == 0.975
    assert ended.status == 0, ended.text


@pytest.mark.parametrize("mark", ["flaky", "flaky(reruns=3)", "retry"])
def test_a_mark_that_runs_a_test_again_is_refused(suite, mark):
    suite.write("pytest.ini", "[pytest]\nmarkers =\n  flaky\n  retry\n")
    suite.offers(good=1.0)
    suite.tests(f"@pytest.mark.{mark}" + READS)
    assert "runs a test again until it passes" in suite.mistake()


def test_an_option_that_runs_a_test_again_is_refused(suite):
    path = suite.offers(good=1.0)
    path.write_text(
        path.read_text()
        + "\ndef pytest_addoption(parser): parser.addoption('--reruns', type=int, default=0)\n"
    )
    suite.tests(READS)
    assert suite.run().status == 0
    assert "`reruns` runs a test again until it passes" in suite.mistake("--reruns=2")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("max_slower = 0.5", "`procure_max_slower` is loosened, from 0.1 as sealed to 0.5"),
        ("max_stalled = 1 s", "`procure_max_stalled` was sealed as 250 ms and is 1000 ms"),
    ],
)
def test_a_threshold_of_the_audit_that_was_moved_keeps_the_offer_from_acceptance(sealed, key, said):
    sealed.write("pytest.ini", INI + f"procure_{key}\n")
    kept_out(sealed.run("--procure-report"), said)
