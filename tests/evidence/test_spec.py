"""The spec's file, and in what a run can differ from it."""

import copy
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.datasets import Dataset
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import laxity, spec
from pytest_procure.evidence.canonical import canonical, digest, plain
from pytest_procure.evidence.differences import requirement_differences, slice_differences, suite_differences
from pytest_procure.evidence.sealing import sealed_bar, sealed_candidate, sealed_slice, slice_name
from pytest_procure.scenarios import Scenario
from pytest_procure.scenarios.traffic import Traffic

SALT = b"s" * 32


def requirement(*bars, scenario=("server", {"qps": 40, "duration": "60 s"}), **more):
    return {
        "question": "Does it hold?",
        "owner": "",
        "risk": "",
        "scenario": Scenario.declare(scenario[0], **scenario[1]).conditions(),
        "bars": [sealed_bar(declare_bar(name, **asked)) for name, asked in bars],
        "asserts": [],
        "source": "0",
        "offers": {"a": {"test": "t[a]", "slice": "numbers"}},
        "waivers": [],
        **more,
    }


def numbers(n=20, **more):
    return Dataset.from_arrays("numbers", inputs=list(range(n)), references=list(range(n)), **more)


@pytest.fixture
def sealed():
    bar = ("accuracy", {"at_least": 0.9, "design": 0.95})
    return {
        "format": spec.FORMAT,
        "version": spec.VERSION,
        "plugin": "0.1",
        "task": {"title": "x"},
        "rule": {"award": "all", "consumer_risk": 0.05, "rejection_risk": 0.05, "min_clusters": 20},
        "expires": "2027-06-30",
        "retest": [],
        "salt": "f",
        "candidates": {"a": sealed_candidate({"name": "a", "price": None}, {"sha256": "1"})},
        "datasets": {"numbers": sealed_slice(numbers().slice(), SALT)},
        "requirements": {"r": requirement(bar)},
        "files": {"conftest.py": "1"},
    }


def test_a_spec_comes_back_as_it_was_written(tmp_path, sealed):
    spec.write(tmp_path, sealed)
    assert spec.read(tmp_path) == sealed
    assert [path.name for path in tmp_path.iterdir()] == [spec.NAME]


def test_no_spec_is_none(tmp_path):
    assert spec.read(tmp_path) is None


def test_the_digest_is_of_what_is_said_and_not_of_how(tmp_path, sealed):
    spec.write(tmp_path, sealed)
    told = json.loads((tmp_path / spec.NAME).read_text())
    assert spec.spec_digest(dict(reversed(list(told.items())))) == spec.spec_digest(sealed)


def test_the_file_is_made_for_a_diff(sealed):
    before = spec.dumps(sealed).splitlines()
    sealed["requirements"]["r"]["bars"][0]["value"] = "0.8"
    after = spec.dumps(sealed).splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.pop("salt"),
        lambda told: told.update(files=[]),
        lambda told: told["requirements"]["r"].pop("bars"),
        lambda told: told["requirements"]["r"]["bars"].append({}),
        lambda told: told["requirements"]["r"]["offers"].update(b=1),
        lambda told: told["candidates"].update(b=None),
        lambda told: told["datasets"]["numbers"].pop("items"),
        lambda told: told.update(version=99),
    ],
)
def test_a_damaged_spec_is_refused_in_one_sentence(tmp_path, sealed, damage):
    damage(sealed)
    (tmp_path / spec.NAME).write_text(json.dumps(sealed))
    with pytest.raises(EvidenceError, match=r"seal again") as told:
        spec.read(tmp_path)
    assert "\n" not in str(told.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_what_is_made_plain_can_be_digested(value):
    assert len(digest(plain(value))) == 64


def test_canonical_json_is_that_of_rfc_8785():
    assert canonical({"b": [1e21, 0.5], "a": "é"}) == '{"a":"é","b":[1e+21,0.5]}'.encode()
    with pytest.raises(EvidenceError, match="no plain data"):
        canonical({"x": float("nan")})
    assert plain({"seed": 2**63, "x": Decimal("1.5")}) == {"seed": str(2**63), "x": "1.5"}


# -- differences ------------------------------------------------------------------------------------------


def found(sealed, ran):
    return [
        (each["kind"], each["what"], each["declarable"]) for each in requirement_differences(sealed, "r", ran)
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"at_least": 0.9}, {"at_least": 0.8}, ("loosened", "bar `accuracy`", False)),
        ({"at_least": 0.9}, {"at_least": 0.95}, ("changed", "bar `accuracy`", True)),
        (
            {"at_least": 0.9},
            {"at_least": 0.9, "consumer_risk": 0.2},
            ("loosened", "the consumer's risk of bar `accuracy`", False),
        ),
        (
            {"at_least": 0.9, "consumer_risk": 0.2},
            {"at_least": 0.9, "consumer_risk": 0.1},
            ("changed", "the consumer's risk of bar `accuracy`", True),
        ),
        (
            {"at_least": 0.9, "design": 0.95},
            {"at_least": 0.9, "design": 0.99},
            ("changed", "the design value of bar `accuracy`", True),
        ),
    ],
)
def test_a_bar_that_moves_is_told_by_its_direction(sealed, old, new, expected):
    sealed["requirements"]["r"] = requirement(("accuracy", old))
    assert found(sealed, requirement(("accuracy", new))) == [expected]


def test_a_limit_in_another_unit_is_the_same_bar_or_another(sealed):
    sealed["requirements"]["r"] = requirement(("latency.p95", {"at_most": "80 ms"}))
    assert found(sealed, requirement(("latency.p95", {"at_most": "0.2 s"})))[0][0] == "loosened"
    assert found(sealed, requirement(("latency.p95", {"at_most": "0.01 s"})))[0][0] == "changed"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"qps": 20}, "loosened"),
        ({"qps": 80}, "changed"),
        ({"duration": "30 s"}, "loosened"),
        ({"duration": "2 min"}, "changed"),
        ({"timeout": "60 s"}, "loosened"),
        ({"timeout": "1 s"}, "changed"),
        ({"max_batch": 8}, "changed"),
        ({"seed": 3}, "changed"),
    ],
)
def test_conditions_that_move_are_told_by_their_direction(sealed, change, kind):
    sealed["requirements"]["r"] = requirement()
    ran = requirement(scenario=("server", {"qps": 40, "duration": "60 s"} | change))
    assert kind in {each for each, what, _ in found(sealed, ran) if what.strip("`") in change}
    assert all(declarable == (each == "changed") for each, _, declarable in found(sealed, ran))


def test_another_scenario_is_no_deviation_that_can_be_declared(sealed):
    sealed["requirements"]["r"] = requirement()
    ran = requirement(scenario=("offline", {}))
    assert ("changed", "`scenario`", False) in found(sealed, ran)


def test_no_number_where_there_was_one_is_lax(sealed):
    sealed["requirements"]["r"] = requirement(scenario=("single_stream", {}))
    assert ("loosened", "`count`", False) in found(
        sealed, requirement(scenario=("single_stream", {"count": 5}))
    )


def test_the_same_suite_differs_in_nothing(sealed):
    assert list(suite_differences(sealed, copy.deepcopy(sealed))) == []
    assert found(sealed, copy.deepcopy(sealed["requirements"]["r"])) == []


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("consumer_risk", 0.1, "loosened"),
        ("consumer_risk", 0.01, "changed"),
        ("min_clusters", 5, "loosened"),
        ("min_clusters", 30, "changed"),
        ("award", "any", "loosened"),
    ],
)
def test_a_rule_that_moves_is_told_by_its_direction(sealed, key, value, kind):
    ran = copy.deepcopy(sealed)
    ran["rule"][key] = value
    (told,) = suite_differences(sealed, ran)
    assert (told["kind"], told["declarable"]) == (kind, kind == "changed")


def of_slices(first, second):
    pair = [sealed_slice(each, SALT) for each in (first, second)]
    return [(each["kind"], each["declarable"]) for each in slice_differences("r", "a", "numbers", *pair)]


def test_items_that_are_missing_cannot_be_declared_away():
    assert of_slices(numbers().slice(), numbers(19).slice()) == [("missing", False)]


def test_items_that_were_added_can():
    assert of_slices(numbers().slice(), numbers(21).slice()) == [("added", True)]


def test_items_in_another_order_are_told():
    told = of_slices(numbers().slice(n=20, seed=1), numbers().slice(n=20, seed=2))
    assert ("changed", True) in told


@given(st.permutations(range(6)), st.integers(0, 6))
def test_exactly_the_items_that_were_sealed_are_asked(order, kept):
    every = numbers(6).slice()
    chosen = [order[place] for place in range(kept)]
    if not chosen:
        return
    some = Dataset.from_arrays("numbers", inputs=chosen, references=chosen).slice()
    kinds = {kind for kind, _ in of_slices(every, some)}
    assert ("missing" in kinds) == (kept < 6)
    assert (kinds == set()) == (chosen == list(range(6)))


def test_a_slice_is_named_by_its_dataset_and_rule():
    assert slice_name(numbers().slice(n=5, seed=7).describe()) == "numbers, n=5, seed=7"
    assert slice_name(numbers().slice(n=5).describe()) == "numbers, n=5, seed=0"
    assert slice_name(numbers().slice().describe()) == "numbers"
    some = numbers(strata=["a", "b"] * 10).slice(where=["a", "b"])
    assert slice_name(some.describe()) == "numbers, where=['a', 'b']"


LAX = [
    ("server", {"qps": 40, "duration": "60 s"}, {"qps": 30}),
    ("server", {"qps": 40, "duration": "60 s"}, {"duration": "30 s"}),
    ("server", {"qps": 40, "duration": "60 s"}, {"cut": 100}),
    ("server", {"qps": 40, "duration": "60 s", "cut": 100}, {"cut": "50 s"}),
    ("server", {"qps": 40, "duration": "60 s"}, {"warmup": "5 s"}),
    ("server", {"qps": 40, "duration": "60 s"}, {"repeat_share": 0.3}),
    ("server", {"qps": 40, "duration": "60 s"}, {"timeout": "30 s"}),
    ("server", {"qps": 40, "duration": "60 s", "burstiness": 0.5}, {"burstiness": 0.9}),
    ("burst", {"base": 5, "peak": 40, "period": "10 s", "duty": 0.3, "duration": "60 s"}, {"base": 1}),
    ("burst", {"base": 5, "peak": 40, "period": "10 s", "duty": 0.3, "duration": "60 s"}, {"peak": 30}),
    ("burst", {"base": 5, "peak": 40, "period": "10 s", "duty": 0.3, "duration": "60 s"}, {"duty": 0.1}),
    ("burst", {"base": 5, "peak": 40, "period": "10 s", "duty": 0.3, "duration": "60 s"}, {"period": "1 s"}),
    ("ramp", {"start": 10, "end": 40, "duration": "60 s"}, {"start": 5}),
    ("ramp", {"start": 10, "end": 40, "duration": "60 s"}, {"end": 30}),
    ("closed_loop", {"concurrency": 8, "duration": "60 s"}, {"concurrency": 4}),
    ("closed_loop", {"concurrency": 8, "duration": "60 s"}, {"think_time": "1 s"}),
    ("sessions", {"starts": 2, "turns": 4, "duration": "60 s"}, {"starts": 1}),
    ("sessions", {"starts": 2, "turns": 4, "duration": "60 s"}, {"turns": 2}),
    ("sessions", {"starts": 2, "turns": 4, "duration": "60 s"}, {"think_time": "1 s"}),
    ("offline", {"launches": 5}, {"launches": 3}),
    ("multi_stream", {"samples_per_query": 8}, {"samples_per_query": 4}),
]


def told_of(name, before, after, sealed):
    sealed["requirements"]["r"] = requirement(scenario=(name, before))
    ran = requirement(scenario=(name, before | after))
    return list(requirement_differences(sealed, "r", ran))


@pytest.mark.parametrize(("name", "before", "change"), LAX)
def test_an_eased_condition_is_loosened_and_the_other_way_it_is_changed(sealed, name, before, change):
    (key,) = change
    eased = {each["what"]: each for each in told_of(name, before, change, sealed)}[f"`{key}`"]
    assert (eased["kind"], eased["declarable"]) == ("loosened", False)
    if isinstance(before.get(key, 0), type(change[key])) and key in before:
        harder = {each["what"]: each for each in told_of(name, before | change, before, sealed)}[f"`{key}`"]
        assert (harder["kind"], harder["declarable"]) == ("changed", True)


@pytest.mark.parametrize(
    ("name", "before", "change"),
    [
        ("server", {"qps": 40, "duration": "60 s"}, {"arrivals": "constant"}),
        ("sessions", {"starts": 2, "turns": 4, "duration": "60 s", "history": True}, {"history": False}),
    ],
)
def test_other_arrivals_or_other_turns_are_another_scenario(sealed, name, before, change):
    (each,) = told_of(name, before, change, sealed)
    assert (each["what"], each["declarable"]) == (f"`{next(iter(change))}`", False)


def test_another_trace_is_another_scenario_and_a_slower_one_is_loosened(sealed, tmp_path):
    for name, times in (("monday.csv", (0, 1, 2)), ("sunday.csv", (0, 5, 9))):
        (tmp_path / name).write_text("at\n" + "".join(f"{each}\n" for each in times))
    traces = [str(tmp_path / name) for name in ("monday.csv", "sunday.csv")]
    told = told_of("replay", {"trace": traces[0]}, {"trace": traces[1]}, sealed)
    assert told
    assert not any(each["declarable"] for each in told if each["what"].startswith("`trace"))
    slower = told_of("replay", {"trace": traces[0], "speed": 2}, {"speed": 1}, sealed)
    assert ("loosened", "`speed`") in [(each["kind"], each["what"]) for each in slower]


def test_every_condition_is_listed(sealed):
    """One that is added has to be put where it belongs; until then it is changed, whichever way."""
    lists = [laxity.FEWER_IS_LAX, laxity.MORE_IS_LAX, laxity.IDENTITY, laxity.EITHER_WAY, laxity.DERIVED]
    beside = {"scenario", "label", "carried", "closed_loop", "sample_order"}
    known = {*Traffic.__dataclass_fields__, *beside} - {"name"}
    assert set().union(*lists) == known
    assert sum(map(len, lists)) == len(known)


def test_a_condition_that_nobody_knows_is_changed(sealed):
    sealed["requirements"]["r"]["scenario"]["novelty"] = 1
    (each,) = requirement_differences(
        sealed, "r", {**sealed["requirements"]["r"], "scenario": requirement()["scenario"]}
    )
    assert (each["kind"], each["what"]) == ("changed", "`novelty`")


def test_what_follows_from_others_is_told_where_nothing_else_differs(sealed):
    before = {"qps": 40, "duration": "60 s"}
    (each,) = told_of("server", before, {"wall_limit": "20 min"}, sealed)
    assert (each["kind"], each["what"]) == ("changed", "`wall_limit`")
