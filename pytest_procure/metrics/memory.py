"""Memory of the GPUs that a candidate uses, as their driver tells it during the measured window."""

from __future__ import annotations

from decimal import Decimal

from pytest_procure.units import Quantity

from .execution import Execution
from .measurement import Exact, Interval, Measurement, unmeasurable
from .metric import Metric

_GB = Decimal(1_000_000_000)


def gpu_memory_peak(what: Metric, run: Execution) -> Measurement:
    """Measure the most memory that any look saw in use, over all launches; several GPUs are added up.

    It is what the driver counts for the whole GPU: the candidate with its runtime's reserves. Where somebody
    else may have been on it as well, and where other candidates were loaded meanwhile to compare with, the
    candidate's own part is anything up to that, so nothing is rejected.
    """
    looked = [launch.audit.gpus for launch in run.launches]
    if not all(looked):
        reasons = [launch.audit.gpus_unseen for launch in run.launches if not launch.audit.gpus]
        return unmeasurable(what, reasons[0] if any(reasons) else "the candidate uses no GPU that is known")
    peaks = []
    for gpus in looked:
        silent = next((gpu for gpu in gpus if gpu.memory_peak is None or gpu.lost), None)
        if silent is not None:
            why = silent.lost or silent.untold.get("memory", "the driver did not answer")
            return unmeasurable(what, f"{silent.called} does not tell its memory: {why}")
        elsewhere = next((gpu for gpu in gpus if gpu.shows_nobody), None)
        if elsewhere is not None:
            return unmeasurable(what, f"no process of the candidate was seen on {elsewhere.called}")
        peaks.append(sum(gpu.memory_peak or 0 for gpu in gpus))
    looks = sum(gpu.looks for gpus in looked for gpu in gpus)
    most = Quantity(round(Decimal(max(peaks)) / _GB, 9), "GB")
    if run.blocks or any(gpu.memory_is_shared for gpus in looked for gpu in gpus):
        return Measurement(what, most, looks, "looks", Interval(most.number, Decimal(0), most.number))
    basis = Exact(most.number, "the most that was seen, ten looks a second")
    return Measurement(what, most, looks, "looks", basis)
