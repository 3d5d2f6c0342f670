"""What an option of ours names, and is there already, never takes a suite's settings away."""

import pytest

TEST = """
@pytest.mark.bar("accuracy", at_least=0.5)
def test_reads(procure):
    procure.run()
"""


@pytest.fixture
def inner(suite):
    """A suite with settings of its own, below a folder that has others, and a folder of reports beside it."""
    suite.offers(good=1.0)
    suite.tests(TEST)
    for name in ("conftest.py", "test_it.py"):
        suite.write(f"inner/{name}", (suite.path / name).read_text())
        (suite.path / name).unlink()
    suite.write("inner/pytest.ini", "[pytest]\nprocure_title = Ours\n")
    suite.write("pytest.ini", "[pytest]\nprocure_title = Others'\n")
    (suite.path / "reports" / "inner").mkdir(parents=True)
    return suite


def test_a_folder_of_reports_that_hides_the_suite_s_settings_is_refused_with_the_mend(inner):
    ended = inner.run("inner", "--procure-report", "--procure-out", "reports/inner")
    assert ended.status == 4
    assert "left out inner/pytest.ini; write `--procure-out=reports/inner`" in ended.words
    assert "Traceback" not in ended.text


def test_so_is_an_offer_s_name_that_is_a_folder_as_well(inner):
    (inner.path / "good").mkdir()
    ended = inner.run("inner", "--procure-report", "--procure-candidate", "good")
    assert ended.status == 4
    assert "left out inner/pytest.ini; write `--procure-candidate=good`" in ended.words


def test_settings_that_were_read_are_not_lost(inner):
    settings = inner.path / "inner" / "pytest.ini"
    settings.write_text(settings.read_text() + f"addopts = --procure-out {inner.path}/reports/inner\n")
    assert inner.run("inner", "--procure-report").status == 0
    assert "Ours" in (inner.path / "reports" / "inner" / "summary.md").read_text()


def test_with_the_mend_the_suite_has_its_settings(inner):
    inner.run("inner", "--procure-report", "--procure-out=reports/inner")
    assert "Ours" in (inner.path / "reports" / "inner" / "summary.md").read_text()


def test_a_folder_that_hides_nothing_is_nobody_s_business(inner):
    (inner.path / "inner" / "pytest.ini").unlink()
    assert inner.run("inner", "--procure-report", "--procure-out", "reports/inner").status == 0
