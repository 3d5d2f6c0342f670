"""Which finding a reader is shown first."""

from pytest_procure.report.deciding import cards, deciding, finding_of


def numbers(record):
    return {
        candidate["name"]: decided.finding["estimate"]["text"] if decided and decided.finding else None
        for candidate, decided in cards(record)
    }


def test_each_candidate_is_shown_by_the_finding_that_made_its_verdict(everything):
    told = numbers(everything)
    assert told["vendor-b-int8"] == "85.6 %"
    assert told["vendor-c-edge"] == "95.6 %"
    assert told["vendor-d"] is None


def test_accepted_candidates_are_shown_by_the_bar_that_turned_another_down(demo):
    scans, peak = demo["requirements"]
    for result in peak["results"]:
        for finding in result["findings"]:
            if result["candidate"] == "vendor-b-int8":
                finding["struck"] = False
                finding["verdict"] = "reject" if finding["metric"] == "latency.p95" else "accept"
    scans["results"][1] |= {"verdict": "accept"}
    scans["results"][1]["findings"][0]["verdict"] = "accept"
    assert numbers(demo) == {
        "vendor-a-fp32": "622 us",
        "vendor-b-int8": "355 us",
        "vendor-b-int8-recalibrated": "359 us",
    }


def test_quality_is_named_before_speed(demo):
    result = demo["requirements"][1]["results"][1]
    for finding in result["findings"]:
        finding |= {"struck": False, "verdict": "reject"}
    result["findings"].reverse()
    assert finding_of(result)["metric"] == "accuracy"


def test_what_decides_nothing_is_never_named_as_deciding(demo):
    result = demo["requirements"][0]["results"][1]
    result["findings"][0]["observed_only"] = True
    assert finding_of(result) is None


def test_a_candidate_that_was_asked_nothing_has_no_deciding_finding(demo):
    demo["requirements"] = []
    assert deciding(demo, demo["candidates"][0]) is None


def test_a_gravest_result_is_named_where_the_candidates_own_verdict_was_never_given(demo):
    demo["candidates"][1]["verdict"] = "waived"
    assert deciding(demo, demo["candidates"][1]).result["verdict"] == "reject"
