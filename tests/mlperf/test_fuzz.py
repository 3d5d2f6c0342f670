"""Whatever a published file holds: findings, never a guess that raises."""

import gzip
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.mlperf import Filters, MlperfError, compare, load_results, movement, shortlist
from pytest_procure.mlperf.logs import parse_accuracy, parse_detail, parse_log
from pytest_procure.mlperf.pages import check_page
from pytest_procure.mlperf.reconciling import reconcile
from pytest_procure.mlperf.showing import overview_page, result_page

DATA = Path(__file__).parent / "data"
ROWS = json.loads(gzip.decompress((DATA / "v5.1.summary_results.json.gz").read_bytes()))
SECOND = list(json.loads((DATA / "v6.1.summary.json").read_text("utf-8")).values())
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from(
        ["Watts", "Samples/s", "Latency (s)", "v5.1", "v0.5", "open", "MultiStream", "8", "1e9", "(x3)", "./"]
    ),
)


@st.composite
def tables(draw):
    """A table of real rows of either naming scheme, some cells replaced by anything, some taken out."""
    made = []
    for row in draw(st.lists(st.sampled_from(ROWS + SECOND), min_size=1, max_size=5)):
        changes = draw(st.dictionaries(st.sampled_from(sorted(row)), ODD, max_size=6))
        lost = draw(st.sets(st.sampled_from(sorted(row)), max_size=3))
        made.append({key: value for key, value in (row | changes).items() if key not in lost})
    return made


def load(content, name="table.json"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return load_results(path)


def use(results):
    """Ask everything of a load; only a user's mistake may be raised."""
    check_page(results)[0].text()
    overview_page(results).json()
    movement(results.rows)
    for one in results.rows:
        list(reconcile(one))
        for other in results.rows[:2]:
            made = compare(one, other)
            assert made.status != "refused" or (made.ratio, made.change, made.derived) == (None, None, ())
        try:
            shortlist(results.rows, Filters(one.benchmark, one.scenario))
            result_page(results, [f"{one.round}@{one.name}/{one.model}"], None).text()
        except MlperfError:
            continue


@settings(max_examples=60)
@given(tables())
def test_a_table_with_anything_in_its_cells_is_read_and_answered(rows):
    results = load(json.dumps(rows).encode("utf-8", "surrogatepass"))
    assert all(one.file == "table.json" for one in results.findings)
    assert len(results.rows) == len(rows) or any(
        one.where or one.code == "broken" for one in results.findings
    )
    use(results)


@settings(max_examples=60)
@given(st.integers(0, 3000), st.binary(max_size=4), st.booleans())
def test_a_table_cut_or_bitten_anywhere_is_findings_and_no_crash(at, bite, packed):
    whole = json.dumps(ROWS[:3]).encode()
    whole = gzip.compress(whole, mtime=0) if packed else whole
    use(load(whole[:at] + bite))
    use(load(whole[:at] + bite + whole[at + len(bite) :]))


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*ROWS[0], *SECOND[0], "x"]), inner, max_size=5)
        ),
        max_leaves=12,
    )
)
def test_json_of_any_shape_is_findings_and_no_crash(document):
    use(load(json.dumps(document).encode()))


@settings(max_examples=60)
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
def test_csv_of_any_shape_is_findings_and_no_crash(text):
    head = (DATA / "v5.0-unofficial.summary.csv").read_text("utf-8").splitlines()[0]
    use(load(f"{head}\n{text}".encode(), "table.csv"))
    use(load(text.encode(), "table.csv"))


LOG = next(
    (DATA / "checkout" / "v5.1").rglob("llama2-70b-99.9/Server/performance/run_1/mlperf_log_summary.txt")
).read_text("utf-8")


@settings(max_examples=100)
@given(st.integers(0, len(LOG)), st.text(max_size=40))
def test_a_log_cut_or_bitten_anywhere_is_read(at, bite):
    found = []
    log = parse_log(LOG[:at] + bite, "log", found.append)
    parse_log(LOG[:at] + bite + LOG[at + len(bite) :], "log", found.append)
    parse_accuracy(LOG[:at] + bite)
    parse_detail(":::MLLOG " + bite, "detail", found.append)
    assert log.fault or log.validity == "VALID"
