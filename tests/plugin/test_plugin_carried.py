"""What does not follow from the rows is listed by name, and everything else is made again."""

import json

from pytest_procure.cli import main
from pytest_procure.evidence import manifest, pack
from pytest_procure.evidence.plain import dumps
from pytest_procure.verify import verify

ALWAYS = 3  # lines that every pack has


def test_a_plain_run_carries_nothing_but_what_the_session_saw(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.5)\ndef test_it(procure):\n    procure.run()\n")
    assert len(verify(suite.run("--procure-report").folder).carried) == ALWAYS


def test_a_capacity_and_an_own_value_are_judged_again_and_said_to_be_carried(suite, capsys):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=50, count=50)
        @pytest.mark.bar("own.joy", at_least=3)
        def test_it(procure):
            procure.run()
            procure.measure("own.joy", 4)
            found = procure.find_capacity({"error_rate": 0.5}, most=200, short="0.2 s", confirm="1 s")
            assert found.capacity >= per_second(10)
    """)
    folder = suite.run("--procure-report").folder
    assert main(["verify", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "`own.joy` of test_it.py::test_it[good]: as the test itself gave it; only the judging" in told
    assert "`capacity` of test_it.py::test_it[good]: as a search gave it; only the judging" in told
    assert "the points of searches and sweeps" in told
    assert "measurements, verdicts and pages follow from the rows" in told


def test_a_verdict_on_what_is_carried_is_made_again(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.bar("own.joy", at_least=3)
        def test_it(procure):
            procure.run()
            procure.measure("own.joy", 4)
    """)
    folder = suite.run("--procure-report").folder
    (path,) = (folder / "cases").iterdir()
    told = json.loads(path.read_text("utf-8"))
    told["own"][0]["basis"]["value"] = told["own"][0]["estimate"]["number"] = "2"
    path.write_text(dumps(told), "ascii")
    (folder / manifest.MANIFEST).unlink()
    pack.put(folder / manifest.MANIFEST, manifest.manifest(folder))
    fields = {each.field for each in verify(folder).mismatches if each.file == "verdict.json"}
    assert "$.requirements[0].results[0].findings[0].verdict" in fields


def test_measurements_that_rows_give_are_not_taken_otherwise(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.5)\ndef test_it(procure):\n    procure.run()\n")
    folder = suite.run("--procure-report").folder
    (path,) = (folder / "cases").iterdir()
    told = json.loads(path.read_text("utf-8"))
    metric = told["asked"]["bars"][0]["metric"]
    basis = {"value": "1", "label": "trust me"}
    told["results"][0]["carried"] = [
        {"metric": metric, "estimate": {"number": "1", "unit": ""}, "n": 1, "n_unit": "", "basis": basis,
         "seconds": 0.0}
    ]  # fmt: skip
    path.write_text(dumps(told), "ascii")
    said = " ".join(map(str, verify(folder).mismatches))
    assert "`accuracy` follows from the rows, and is not taken otherwise" in said
