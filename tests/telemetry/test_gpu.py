"""A GPU in the window: the real `pynvml`, and a driver's library that answers what it is told to."""

import json
import os
import subprocess
import sys

import pytest

from pytest_procure.telemetry.owners import Owned, owned
from pytest_procure.telemetry.visible import Place, ordinals, place

LOOK = """
import json, os
from dataclasses import asdict
from pytest_procure.telemetry import owners
from pytest_procure.telemetry.instruments import Instruments
owners._FIRST_NAMESPACE = {container!r} or os.readlink("/proc/self/ns/pid")
found = Instruments.of({device!r}, before={before!r})
for what in ("start", *["sample"] * {samples}, "stop"):
    for probe in found.gpus:
        getattr(probe, what)()
told = [asdict(gpu) | {{"fault": gpu.fault, "notes": list(gpu.notes())}} for gpu in found.seen()]
print(json.dumps([told, found.unseen]))
"""


def looked(driver, more="", *, device="cuda:0", samples=2, before=(), container=""):
    """Look at a GPU from the start of a window to its end; `more` replaces lines of the quiet script.

    `before`: who held a GPU before the candidate was loaded. `container`: the first PID namespace, another's.
    """
    lines = {line.split()[0]: line for line in driver.script.read_text("utf-8").splitlines()}
    lines |= {line.split()[0]: line.strip() for line in more.splitlines() if line.strip()}
    driver.says("\n".join(lines.values()))
    given = {"device": device, "samples": samples, "before": before, "container": container}
    return json.loads(driver.run(LOOK.format(**given)))


def the_gpu(driver, more="", **how):
    (gpu,), unseen = looked(driver, more, **how)
    assert unseen == ""
    return gpu


def test_the_most_memory_the_mean_use_and_the_clocks_of_the_window_are_kept(driver):
    gpu = the_gpu(
        driver,
        """
        0.memory 20 60 40 30
        0.use 100 50 0 50
        0.clock 1980 1200 1980 1980
        0.temperature 60 82 70 65
        """,
    )
    assert gpu["looks"] == 4
    assert (gpu["memory_before"], gpu["memory_peak"]) == (20, 60)
    assert (gpu["busy"], gpu["busy_most"]) == (0.5, 1.0)
    assert (gpu["clock_least_mhz"], gpu["clock_most_mhz"], gpu["hottest_c"]) == (1200, 1980, 82)
    assert (gpu["name"], gpu["uuid"], gpu["lost"], gpu["untold"]) == ("NVIDIA H200", "GPU-1234", "", {})


def test_a_quiet_gpu_of_ones_own_has_no_fault_and_no_note(driver):
    gpu = the_gpu(driver, "0.reasons 1")  # nothing runs
    assert (gpu["fault"], gpu["notes"], gpu["slowed"], gpu["foreign"]) == ("", [], {}, 0)


@pytest.mark.parametrize(
    ("bits", "word"),
    [
        ("0x2", "clocks set by the operator"),
        ("0x4", "power cap"),
        ("0x8", "hardware slowdown"),
        ("0x10", "in step with other GPUs"),
        ("0x20", "heat, by software"),
        ("0x48", "heat, by hardware"),
        ("0x88", "power brake"),
    ],
)
def test_what_held_the_clocks_down_is_noted_with_its_share_of_looks(driver, bits, word):
    gpu = the_gpu(driver, f"0.reasons 0 {bits} 0")
    assert gpu["slowed"] == {word: 0.25}
    assert gpu["notes"] == [f"GPU 0 (NVIDIA H200) ran below its clocks: {word} (25% of looks)"]
    assert gpu["fault"] == ""


def test_an_old_driver_is_asked_by_the_old_name(driver):
    assert the_gpu(driver, "0.reasons !13\n0.reasons_old 0x40")["slowed"] == {"heat, by hardware": 1.0}


def test_who_was_there_before_the_candidate_was_loaded_is_the_harnesses_fault(driver):
    gpu = the_gpu(driver, "0.processes self self,1,2 self", before=(1, 2))
    assert (gpu["foreign"], gpu["unknown"]) == (2, 0)
    assert gpu["fault"] == (
        "2 processes of somebody else held GPU 0 (NVIDIA H200) during the run; end them, or give the run a "
        "GPU of its own"
    )


def test_who_holds_the_gpu_is_asked_again_in_a_long_window(driver):
    assert the_gpu(driver, "0.processes self self,1 self", samples=12, before=(1,))["foreign"] == 1


def test_who_came_later_may_be_the_candidates_own_and_is_a_note(driver):
    gpu = the_gpu(driver, "0.processes self,1,2", before=(1,))
    assert (gpu["foreign"], gpu["unknown"]) == (1, 1)
    assert gpu["fault"].startswith("a process of somebody else held GPU 0 (NVIDIA H200)")
    assert gpu["notes"] == [
        (
            "1 process(es) held GPU 0 (NVIDIA H200) of which it cannot be told whether they are the "
            "candidate's or somebody else's"
        )
    ]


def test_in_a_container_nobodys_absence_is_shown_whoever_is_listed(driver):
    gpu = the_gpu(driver, container="pid:[1]")
    assert (gpu["fault"], gpu["foreign"], gpu["unknown"]) == ("", 0, 0)
    assert gpu["notes"] == [
        (
            "that nobody else used GPU 0 (NVIDIA H200) is not shown: in a container a driver may leave out "
            "who runs outside of it"
        )
    ]


@pytest.mark.parametrize("listed", ["none", "4242"])
def test_a_list_without_any_process_of_the_candidates_shows_nobodys_absence(driver, listed):
    assert the_gpu(driver, f"0.processes {listed}")["notes"][-1] == (
        "that nobody else used GPU 0 (NVIDIA H200) is not shown: the driver lists no process of the "
        "candidate either"
    )


def test_who_holds_any_gpu_or_part_of_one_is_known_before_a_candidate_is_loaded(driver):
    driver.says(
        "gpus 3\n0.processes 7,8\n1.processes !4\n2.processes 9\n2.mig 1\npart2.uuid a\npart2.processes 10"
    )
    code = "from pytest_procure.telemetry.driver import holders; print(sorted(holders()))"
    assert driver.run(code) == "[7, 8, 9, 10]\n"


def test_without_a_driver_nobody_is_known_to_hold_a_gpu(driver):
    driver.script.unlink()
    assert driver.run("from pytest_procure.telemetry.driver import holders; print(*holders())") == "\n"


def test_a_driver_that_does_not_tell_who_is_there_is_noted(driver):
    gpu = the_gpu(driver, "0.processes !4")
    assert gpu["fault"] == ""
    (told,) = gpu["notes"]
    assert told == (
        "the driver does not tell who holds GPU 0 (NVIDIA H200) (Insufficient Permissions): that nobody else "
        "used it is not shown"
    )


def test_a_desktop_on_the_gpu_is_noted(driver):
    assert the_gpu(driver, "0.desktop 77,self")["notes"] == [
        "1 process(es) also drew a desktop on GPU 0 (NVIDIA H200)"
    ]


def test_a_gpu_that_is_lost_is_told_with_the_time_and_no_longer_asked(driver):
    gpu = the_gpu(driver, "0.memory 20 !15 99 99")
    assert gpu["lost"].startswith("GPU is lost, 0.")
    assert gpu["looks"] == 2
    assert gpu["memory_peak"] == 20
    assert gpu["notes"][0].startswith("GPU 0 (NVIDIA H200) was lost: GPU is lost, 0.")


def test_what_the_gpu_does_not_count_is_none_and_never_nothing(driver):
    gpu = the_gpu(driver, "0.memory !3\n0.use !3\n0.clock !4\n0.temperature !21\n0.reasons !3")
    assert [gpu[what] for what in ("memory_peak", "busy", "clock_least_mhz", "hottest_c")] == [None] * 4
    assert gpu["slowed"] == {}
    assert gpu["untold"]["clocks"] == "Insufficient Permissions"
    assert set(gpu["untold"]) == {"memory", "use", "clocks", "temperature", "slowing"}


def test_a_question_that_fails_once_is_asked_again(driver):
    gpu = the_gpu(driver, "0.memory 20 !10 70 30")
    assert (gpu["memory_peak"], gpu["untold"]) == (70, {})


def test_memory_that_the_driver_reserves_is_nobodys(driver):
    gpu = the_gpu(driver, "0.memory 900 1000 900\n0.memory_reserved 900")
    assert (gpu["memory_before"], gpu["memory_peak"], gpu["notes"]) == (0, 100, [])


@pytest.mark.parametrize("error", [13, 25])
def test_an_old_driver_that_does_not_tell_what_it_reserves_is_told_so(driver, error):
    gpu = the_gpu(driver, f"0.memory_v2 !{error}\n0.memory 900 1000 900")
    assert gpu["memory_peak"] == 1000
    (told,) = gpu["notes"]
    assert told.startswith("memory of GPU 0 (NVIDIA H200) is told with what the driver reserves for itself (")


def test_memory_of_which_the_driver_reserves_more_than_is_in_use_is_not_known(driver):
    gpu = the_gpu(driver, "0.memory 900\n0.memory_reserved 901")
    assert gpu["memory_peak"] is None
    assert gpu["untold"]["memory"] == "ValueError: more memory is free and reserved than there is"


def test_a_cut_gpu_tells_of_the_named_part_alone(driver, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-77")
    gpu = the_gpu(driver, "0.mig 1\npart0.uuid MIG-77\npart0.memory 5 9 7 5\npart0.processes self\n0.use 90")
    assert (gpu["part"], gpu["memory_peak"], gpu["busy"]) == ("MIG-77", 9, None)
    assert gpu["untold"]["use"] == "the GPU is cut into parts (MIG), which the driver tells of together"


def test_a_cut_gpu_of_which_no_part_is_named_tells_of_none(driver):
    gpu = the_gpu(driver, "0.mig 1")
    assert gpu["memory_peak"] is None
    assert gpu["untold"]["memory"].endswith("CUDA_VISIBLE_DEVICES names none")


def test_several_gpus_are_each_looked_at(driver):
    more = "gpus 2\n1.name NVIDIA_H200\n1.uuid GPU-5\n1.memory 7\n1.processes self"
    (first, second), _ = looked(driver, more, device="cuda:0,1")
    assert (first["index"], second["index"], second["memory_peak"]) == (0, 1, 7)


def test_a_gpu_that_is_not_there_is_told_and_none_is_looked_at(driver):
    assert looked(driver, device="cuda:3") == [[], "the driver has no GPU number 3"]
    assert looked(driver, device="cpu") == [[], ""]


# Which GPU a device of CUDA's is


def test_devices_are_read():
    assert [ordinals(each) for each in ("cuda", "cuda:2", "cuda:0,1", "cuda:0,cuda:1")] == [
        (0,),
        (2,),
        (0, 1),
        (0, 1),
    ]
    assert [ordinals(each) for each in ("cpu", "remote", "rocm:0", "cudax")] == [()] * 4


SAME, OTHERS, UUIDS = ("H200", "H200"), ("L4", "H200"), ("GPU-aa", "GPU-ab")


@pytest.mark.parametrize(
    ("ordinal", "names", "environ", "found"),
    [
        (1, SAME, {}, Place(1)),
        (0, SAME, {"CUDA_VISIBLE_DEVICES": "1"}, Place(1)),
        (1, SAME, {"CUDA_VISIBLE_DEVICES": "1, 0"}, Place(0)),
        (0, SAME, {"CUDA_VISIBLE_DEVICES": "GPU-ab"}, Place(1)),
        (0, OTHERS, {"CUDA_VISIBLE_DEVICES": "GPU-ab"}, Place(1)),
        (0, SAME, {"CUDA_VISIBLE_DEVICES": "MIG-3f"}, Place(part="MIG-3f")),
        (1, OTHERS, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, Place(1)),
    ],
)
def test_cudas_device_is_found_among_the_drivers(ordinal, names, environ, found):
    assert place(ordinal, names, UUIDS, environ) == found


@pytest.mark.parametrize(
    ("ordinal", "names", "environ", "told"),
    [
        (0, OTHERS, {}, "GPUs of several kinds"),
        (2, SAME, {}, "no GPU number 2"),
        (1, SAME, {"CUDA_VISIBLE_DEVICES": "1"}, "shows no device number 1"),
        (0, SAME, {"CUDA_VISIBLE_DEVICES": ""}, "shows no device number 0"),
        (0, SAME, {"CUDA_VISIBLE_DEVICES": "-1"}, "no GPU number -1"),
        (0, SAME, {"CUDA_VISIBLE_DEVICES": "GPU-a"}, "not one GPU `GPU-a`"),
    ],
)
def test_a_gpu_that_cannot_be_told_is_never_guessed(ordinal, names, environ, told):
    assert told in place(ordinal, names, UUIDS, environ)


# Whose a process is


def test_what_this_process_started_is_its_own():
    waits = "subprocess.Popen([sys.executable, '-c', 'input()']).pid"
    code = f"import subprocess, sys; print({waits}, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        grandchild = int(child.stdout.readline())
        found = owned([os.getpid(), child.pid, grandchild])
        child.communicate(b"\n")
    assert (found.foreign, found.unknown) == (0, 0)


def proc_of(folder, pids, namespace):
    """A `/proc` with these processes (child: parent), seen from a namespace."""
    for pid, parent in pids.items():
        (folder / str(pid)).mkdir()
        (folder / str(pid) / "stat").write_text(f"{pid} (a ) b) S {parent} 1 1", encoding="ascii")
    (folder / "self" / "ns").mkdir(parents=True)
    (folder / "self" / "ns" / "pid").symlink_to(namespace)
    return folder


FIRST, CONTAINER = "pid:[4026531836]", "pid:[4026532000]"


def test_a_stranger_is_one_where_the_driver_names_processes_as_we_do(tmp_path):
    me = os.getpid()
    proc = proc_of(tmp_path, {me: 1, me + 1: me, me + 2: 1}, FIRST)
    everybody = [me, me + 1, me + 2, me + 3]
    assert owned(everybody, everybody, proc) == Owned(2, foreign=2, unknown=0, all_listed=True)


def test_who_was_not_there_before_the_candidate_is_no_stranger_for_certain(tmp_path):
    me = os.getpid()
    proc = proc_of(tmp_path, {me: 1, me + 2: 1}, FIRST)
    assert owned([me, me + 2, me + 3], [me + 3], proc) == Owned(1, foreign=1, unknown=1, all_listed=True)


def test_in_a_container_strangers_are_those_beyond_our_own_number(tmp_path):
    me = os.getpid()
    proc = proc_of(tmp_path, {me: 1, me + 1: me, me + 2: 1}, CONTAINER)
    others = [900_001, 900_002, 900_003]
    assert owned(others[:2], others, proc) == Owned(0, foreign=0, unknown=2, all_listed=False)
    assert owned(others, others, proc) == Owned(0, foreign=1, unknown=2, all_listed=False)
    assert owned(others, others[:2], proc) == Owned(0, foreign=0, unknown=3, all_listed=False)
    assert owned([me, me + 1], others, proc) == Owned(2, foreign=0, unknown=0, all_listed=False)
