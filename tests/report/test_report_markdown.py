"""The summary that a CI service shows beside a run."""

from pytest_procure.report import markdown


def test_a_summary_has_the_decision_a_row_a_candidate_and_the_exit_status(demo):
    told = markdown.summary(demo).splitlines()
    assert told[0] == "## A reader for handwritten digits on our forms"
    assert told[2].startswith("Two of three offers are accepted.")
    assert told[7] == (
        "| ■ Not accepted | vendor-b-int8 | answers right 85.6 % (likely range 83.4 % to 87.6 %); "
        "asked: at least 95 % |"
    )
    assert "Exit status 1: vendor-b-int8 does not meet 2 of 2 requirements" in told


def test_what_was_not_measured_says_why(everything):
    told = markdown.summary(everything)
    assert (
        "| ○ Not tested | vendor-d | the model file names an operator that this runtime does not have |"
        in told
    )
    assert "| ◇ Waived | vendor-f | waived until 2027-01-31 by the head of forms: pilot only |" in told


def test_a_candidate_that_was_asked_nothing_keeps_its_own_sentence(demo):
    demo["requirements"] = []
    assert "| ● Accepted | vendor-a-fp32 | It meets every requirement. |" in markdown.summary(demo)
