"""The fixtures. A suite may override each of them the pytest way.

_procure_offer ──► candidate ──► backend ────┐
_procure_slice ─┬► dataset ─┐                ├──► procure
                └───────────┴► dataset_slice ┘
                   gpu
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from ._keys import session_key, trial_key
from .errors import ProcureError

if TYPE_CHECKING:  # a session that does not use the plugin must not pay for numpy
    from .candidates import Candidate
    from .datasets import Dataset, DatasetSlice
    from .procure import Procure
    from .provision import Provisioned
    from .suite import Offer, SliceAsked, Suite
    from .telemetry.nvml import Gpu


@contextmanager
def told() -> Generator[None]:
    """Show a user's mistake as one sentence, without a traceback."""
    said = ""
    try:
        yield
    except ProcureError as error:
        said = f"procure: {error}"
    if said:
        raise pytest.fail.Exception(said, pytrace=False) from None  # the sentence is all there is to show


def _note_troubles(request: pytest.FixtureRequest, candidate: Candidate, loaded: Provisioned) -> None:
    """Say in the report what went wrong in closing; the next candidate must not answer for this one."""
    notes = request.config.stash[session_key].gate.notes
    notes += [f"candidate `{candidate.name}` could not be closed: {trouble}" for trouble in loaded.troubles]


def _suite(request: pytest.FixtureRequest) -> Suite:
    return request.config.stash[session_key].suite


@pytest.fixture(scope="session")
def _procure_offer(request: pytest.FixtureRequest) -> Offer:
    """The offer under test, one after the other; parametrised from the conftests."""
    offer: Offer = request.param
    return offer


@pytest.fixture(scope="session")
def _procure_slice(request: pytest.FixtureRequest) -> SliceAsked:
    """The slice that the test's mark asks for."""
    asked: SliceAsked = request.param
    return asked


@pytest.fixture(scope="session")
def candidate(_procure_offer: Offer) -> Candidate:
    """The candidate under test."""
    return _procure_offer.candidate


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest, candidate: Candidate) -> Generator[Provisioned]:
    """The candidate's backend, loaded; closed before the next candidate is loaded."""
    from .provision import Provisioned  # noqa: PLC0415 - only sessions that use us pay

    with told():
        suite = _suite(request)
        loaded = Provisioned(candidate.backend, suite.base(candidate), suite.isolation(candidate))
    yield loaded
    loaded.close()
    _note_troubles(request, candidate, loaded)


@pytest.fixture(scope="session")
def dataset(_procure_slice: SliceAsked) -> Dataset:
    """The buyer's dataset that the test's slice is cut from."""
    with told():
        return _procure_slice.source.dataset()


@pytest.fixture(scope="session")
def dataset_slice(_procure_slice: SliceAsked, dataset: Dataset) -> DatasetSlice:
    """The samples of `dataset` that the test's `dataset_slice` mark asks for."""
    with told():
        return _procure_slice.choose(dataset)


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The first NVIDIA GPU, as NVML describes it; without one the test is skipped, which accepts nothing."""
    from .telemetry.nvml import gpus  # noqa: PLC0415 - only tests that ask for a GPU pay

    found, reason = gpus()
    if not found:
        pytest.skip(f"no GPU: {reason}")
    return found[0]


@pytest.fixture
def procure(
    request: pytest.FixtureRequest,
    candidate: Candidate,
    backend: Any,
    dataset_slice: DatasetSlice,
) -> Generator[Procure]:
    """Run the marked scenario on the candidate, and hold what is measured against the bars."""
    from .cases import Case  # noqa: PLC0415 - only sessions that use us pay
    from .checks import check_labels, check_slice, check_stages  # noqa: PLC0415 - the same
    from .disclosure import refuse_unfit  # noqa: PLC0415 - the same
    from .marks import check_unchanged  # noqa: PLC0415 - the same
    from .procure import Procure  # noqa: PLC0415 - the same
    from .progress import progress, teller  # noqa: PLC0415 - the same
    from .provision import provisioned  # noqa: PLC0415 - the same
    from .redaction import redacted_data  # noqa: PLC0415 - the same
    from .stopping import check  # noqa: PLC0415 - the same

    trial = request.node.stash.get(trial_key, None)
    if trial is None:
        pytest.fail("procure: ask for `procure` as an argument of the test, not later", pytrace=False)
    requirement = trial.requirement
    with told():
        check_unchanged(request.node, requirement.scenario, requirement.bars)
        check_slice(dataset_slice)
        check_labels(dataset_slice.dataset, requirement.bars)
        check_stages(requirement.bars, candidate)
        check(requirement.bars, dataset_slice, requirement.scenario)
        suite = _suite(request)
        loaded = provisioned(backend, suite.base(candidate), suite.isolation(candidate))
        described = redacted_data(loaded.describe())
        dataset_slice = trial.look(dataset_slice, described)
        trial.disclose(candidate, described, replaced=not loaded.is_of(candidate.backend))
        refuse_unfit(described, dataset_slice.inputs)
        references = [
            suite.offer(request.node.ihook, bar.against.name)
            for bar in requirement.bars
            if bar.against is not None
        ]
    keeper = request.config.stash[session_key].keeper
    trial.case = Case(candidate, requirement.bars, trial.policy, sealed=trial.hold is not None)
    scenario = requirement.scenario
    if trial.screen:
        from .screening import shortened  # noqa: PLC0415 - only with the flag

        scenario = shortened(scenario, dataset_slice)
    shown = progress(request.config, f"{candidate.name}, {requirement.scenario.name}")
    yield Procure(
        trial.case,
        loaded,
        dataset_slice,
        scenario,
        hold=trial.hold,
        references=list(dict.fromkeys(references)),
        progress=shown,
        waiting=teller(request.config),
        limits=trial.limits,
        folder=request.path.parent,
        journals=None if keeper is None else keeper.journals(requirement.test),
    )
    if loaded is not backend:
        loaded.close()
        _note_troubles(request, candidate, loaded)
