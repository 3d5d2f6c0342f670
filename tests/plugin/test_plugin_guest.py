"""A suite that does not use the plugin does not notice that it is there."""

import pytest

HEAVY = ("numpy", "scipy", "jinja2", "torch", "onnxruntime")
CONFTEST = f"""
def pytest_sessionfinish(session):
    import sys
    found = [name for name in {HEAVY!r} if name in sys.modules]
    ours = sorted(name for name in sys.modules if name.startswith("pytest_procure"))
    print("\\nheavy:", found)
    print("session:", "pytest_procure.session" in ours)
"""
OTHERS = ("-p", "no:benchmark", "-p", "no:hypothesispytest", "-p", "no:xdist")


def test_a_suite_that_does_not_use_the_plugin_pays_nothing_and_sees_nothing(suite):
    suite.write("conftest.py", CONFTEST)
    suite.write(
        "test_plain.py",
        """
        import pytest

        def test_one(): assert 1 + 1 == 2

        @pytest.mark.parametrize("x", [1, 2])
        def test_two(x): pass
        """,
    )
    ended = suite.run(*OTHERS, "-s", process=True)
    assert ended.status == 0
    assert "heavy: []" in ended.text
    assert "session: False" in ended.text
    told = [line for line in ended.text.splitlines() if "procure" in line]
    assert [line for line in told if not line.startswith(("plugins: ", "rootdir: ", "session: "))] == []
    assert [path for path in suite.path.rglob("*") if "procure" in path.name] == []


def test_a_failing_assert_of_a_suite_that_does_not_use_the_plugin_reads_as_ever(suite):
    suite.write("test_guest.py", "def test_one(): assert [1, 2] == [1, 3]\n")
    ended = suite.run()
    assert ended.status == 1
    assert "At index 1 diff: 2 != 3" in ended.text


def test_marks_and_hooks_are_described_to_those_who_ask(suite):
    ended = suite.run("--markers")
    for mark in ("scenario(name", "dataset_slice(name", "bar(metric"):
        assert f"@pytest.mark.{mark}" in ended.text


def test_the_fixtures_are_described_to_those_who_ask(suite):
    suite.tests("def test_one(): pass")
    ended = suite.run("--fixtures")
    for fixture in ("candidate", "backend", "dataset", "dataset_slice", "gpu", "procure"):
        assert f"\n{fixture}" in ended.text
    assert ended.quiet


def test_asking_for_help_leaves_an_earlier_report_where_it_is(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.9)\ndef test_reads(procure): procure.run()\n")
    ended = suite.run("--procure-report")
    suite.run("--procure-report", "--help")
    suite.run("--procure-report", "--collect-only")
    assert (ended.folder / "report.html").is_file()


UNTESTED = "procure: candidates are declared, and no requirement was tested"


@pytest.mark.parametrize("folder", [".", "below"])
def test_a_suite_with_candidates_that_tests_none_of_them_is_told_so(suite, folder):
    suite.offers(good=1.0, folder=folder)
    suite.tests("def test_one():\n    pass\n", name=f"{folder}/test_it.py")
    ended = suite.run()
    assert (ended.status, ended.text.count(UNTESTED)) == (0, 1)


def test_workers_tell_that_no_candidate_was_tested(suite):
    suite.offers(good=1.0, folder="below")
    suite.tests("def test_one():\n    pass\n", name="below/test_it.py")
    ended = suite.run("-p", "xdist", "-n", "1", process=True)
    assert (ended.status, ended.text.count(UNTESTED)) == (0, 1)


def test_a_suite_whose_candidates_are_tested_is_told_nothing_of_the_kind(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.9)\ndef test_reads(procure):\n    procure.run()\n")
    assert UNTESTED not in suite.run().text
    assert UNTESTED not in suite.run("--collect-only").text


def test_a_report_of_candidates_that_nothing_was_asked_of_is_an_error(suite):
    suite.offers(good=1.0)
    suite.tests("def test_one():\n    pass\n")
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    assert "no requirement was found" in ended.text
