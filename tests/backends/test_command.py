"""A vendor's executable: real processes, of which none is left."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from contract import refuses

from pytest_procure.backends import Answer, Command
from pytest_procure.errors import DeclarationError

HEAD = """
import json, os, sys, time
def asked():
    for line in sys.stdin:
        yield json.loads(line)
def say(number, **more):
    print(json.dumps({"id": number, **more}), flush=True)
"""
ECHO = "for a in asked(): say(a['id'], output=a['input'])"


@pytest.fixture
def vendor(tmp_path):
    """Write the vendor's program and give it loaded; all are closed in the end."""
    loaded = []

    def written(text, **more):
        (tmp_path / "vendor.py").write_text(HEAD + text)
        loaded.append(Command([sys.executable, "vendor.py"], **more).load(tmp_path))
        return loaded[-1]

    yield written
    for each in loaded:
        each.close()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_answers_may_come_in_any_order(vendor):
    loaded = vendor(
        "kept = []\nfor a in asked():\n    kept.append(a)\n    if len(kept) == 3:\n"
        "        [say(k['id'], output=k['input']) for k in reversed(kept)]\n        kept = []"
    )
    assert loaded.predict(["a", "b", "c"]) == ["a", "b", "c"]
    assert loaded.predict([1, 2, 3]) == [1, 2, 3]


def test_arrays_are_asked_as_lists_and_tokens_are_counted(vendor):
    loaded = vendor("for a in asked(): say(a['id'], output=sum(a['input']), input_tokens=3, output_tokens=1)")
    assert loaded.predict(np.ones((2, 3))) == [Answer(3.0, 3, 1)] * 2


def test_no_tokens_beside_a_text_are_no_count(vendor):
    loaded = vendor("for a in asked(): say(a['id'], output=a['input'], input_tokens=3, output_tokens=0)")
    assert loaded.predict(["a", "", 7]) == [Answer("a", 3, -1), Answer("", 3, 0), Answer(7, 3, 0)]


def test_tokens_from_a_cache_are_taken(vendor):
    loaded = vendor(
        "for a in asked(): say(a['id'], output=1, input_tokens=3, output_tokens=1, cached_tokens=2)"
    )
    assert loaded.predict(["a"]) == [Answer(1, 3, 1, cached_tokens=2)]


def test_more_than_a_pipe_holds_goes_both_ways(vendor):
    loaded = vendor(ECHO)
    texts = ["x" * 300_000] * 8
    assert loaded.predict(texts) == texts


def test_one_sample_may_fail_alone(vendor):
    loaded = vendor(
        "for a in asked():\n    say(a['id'], **({'error': 'too long'} if a['input'] == 2 else {'output': 1}))"
    )
    first, second = loaded.predict([1, 2])
    assert first == 1
    assert second == Answer(None, error="the program says: too long")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("for a in asked(): time.sleep(60)", "did not answer within 0.5 s"),
        ("time.sleep(60)", "did not answer within 0.5 s"),
        ("sys.exit(3)", "ended with exit status 3"),
        ("print('no licence found', file=sys.stderr); sys.exit(1)", "its last words: no licence found"),
        ("for a in asked(): os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("for a in asked(): print('loading model...', flush=True)", "a line that is no JSON"),
        ("for a in asked(): print('[' * 1900, flush=True)", "a line that is no JSON"),
        ("for a in asked(): print('[1]', flush=True)", "no object with an `id`"),
        ("for a in asked(): say(a['id'])", "a line without `output`"),
        ("for a in asked(): say(a['id'] + 7, output=1)", "which was not asked"),
        (
            "for a in asked(): say(a['id'], output=1); say(a['id'], output=1)",
            "answered before|more than it was asked for",
        ),
        ("for a in asked(): say(a['id'], output=1, output_tokens=-7)", "a number of tokens"),
        ("for a in asked(): say(a['id'], output='x' * 5000)", "a line of more than 2,000 bytes"),
        ("while True: sys.stdout.write('x' * 9999)", "a line of more than 2,000 bytes"),
        ("import threading\nfor a in asked(): os.close(1); time.sleep(60)", "closed its output"),
    ],
)
def test_what_is_no_answer_ends_the_program_and_is_told(vendor, text, told):
    limit = "0.5 s" if "within" in told else "30 s"
    loaded = vendor(text, timeout=limit, start_timeout=limit, answer_bytes=2000)
    pid = loaded._process._process.pid
    with pytest.raises(RuntimeError, match=told) as failure:
        [loaded.predict([number]) for number in (1, 2)]
    assert "\n" not in str(failure.value)
    assert not alive(pid)
    with pytest.raises(RuntimeError, match=told):
        loaded.predict([1])


def test_a_program_that_floods_its_log_is_not_held_up(vendor):
    loaded = vendor("for a in asked():\n    sys.stderr.write('log ' * 500_000)\n    say(a['id'], output=1)")
    assert loaded.predict([1, 2]) == [1, 1]


def test_no_process_is_left_not_even_its_own_children(vendor, tmp_path):
    loaded = vendor(
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "for a in asked(): say(a['id'], output=[os.getpid(), child.pid])"
    )
    ((parent, child),) = loaded.predict([0])
    loaded.close()
    loaded.close()
    assert not alive(parent)
    assert not alive(child)


@pytest.mark.parametrize("end", ["for a in asked(): say(a['id'], output=pids)", "say(0, output=pids)"])
def test_no_process_is_left_that_has_gone_into_a_session_of_its_own(vendor, end):
    loaded = vendor(
        "import subprocess\n"
        "def child():\n"
        "    pipes = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.DEVNULL)\n"
        "    return subprocess.Popen(['sleep', '600'], start_new_session=True, **pipes)\n"
        "pids = [child().pid for _ in range(3)]\n" + end
    )
    (pids,) = loaded.predict([0])
    loaded.close()
    assert not any(map(alive, pids))


def test_a_program_that_ends_its_whole_group_ends_no_more_than_that(vendor):
    loaded = vendor("next(asked())\nos.killpg(0, 9)")
    with pytest.raises(RuntimeError, match="the program ended by signal 9"):
        loaded.predict([0])


def test_a_program_that_ignores_its_end_is_ended(vendor):
    loaded = vendor(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for a in asked(): say(a['id'], output=os.getpid())\n"
        "while True: sys.stdout.write('x' * 9999)"
    )
    (pid,) = loaded.predict([0])
    loaded.close()
    assert not alive(pid)


def test_variables_are_given_by_name_and_no_others(vendor, monkeypatch):
    monkeypatch.setenv("VENDOR_KEY", "hunter2hunter2")
    monkeypatch.setenv("OTHER_KEY", "of somebody else")
    loaded = vendor("for a in asked(): say(a['id'], output=sorted(os.environ))", environment=["VENDOR_KEY"])
    (names,) = loaded.predict([0])
    assert "VENDOR_KEY" in names
    assert "OTHER_KEY" not in names
    assert "hunter2" not in str(loaded.describe())


def test_a_program_counts_gpus_in_the_order_that_the_suite_does(vendor, monkeypatch):
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    loaded = vendor("for a in asked(): say(a['id'], output=os.environ.get('CUDA_DEVICE_ORDER'))")
    assert loaded.predict([0]) == ["PCI_BUS_ID"]


def test_a_key_that_the_program_repeats_is_taken_out(vendor, monkeypatch):
    monkeypatch.setenv("VENDOR_KEY", "hunter2hunter2")
    loaded = vendor(
        "for a in asked():\n    say(a['id'], error='bad key ' + os.environ['VENDOR_KEY'])\n"
        "    print('key', os.environ['VENDOR_KEY'], file=sys.stderr, flush=True); sys.exit(1)",
        environment=["VENDOR_KEY"],
    )
    assert loaded.predict([1]) == [Answer(None, error="the program says: bad key (secret)")]
    with pytest.raises(RuntimeError, match=r"its last words: key \(secret\)"):
        loaded.predict([2])


def test_last_words_that_begin_in_the_middle_of_a_key_are_quoted_without_it(vendor, monkeypatch):
    monkeypatch.setenv("VENDOR_KEY", "K3y-" + "0123456789abcdef" * 4)
    loaded = vendor(
        "for k in range(9):\n    os.write(2, os.environ['VENDOR_KEY'].encode() * 1500)\n    time.sleep(0.01)",
        environment=["VENDOR_KEY"],
    )
    with pytest.raises(RuntimeError) as refusal:
        loaded.predict(["a"])
    assert "last words: " in str(refusal.value)
    assert "0123456789" not in str(refusal.value)


def test_what_cannot_be_started_is_told(tmp_path):
    refuses(Command(["./vendor"]), tmp_path, "no program `./vendor`")
    refuses(Command(["no-such-program-anywhere"]), tmp_path, "on the PATH")
    (tmp_path / "vendor").write_text("no program")
    refuses(Command(["./vendor"]), tmp_path, "cannot be started")
    refuses(Command([sys.executable], environment=["NOT_SET_ANYWHERE"]), tmp_path, "has no variable")


@pytest.mark.parametrize(
    ("arguments", "more", "told"),
    [
        ("./vendor --serve", {}, "expected a list"),
        ([], {}, "expected a list"),
        (["./vendor", "--api-key=abc"], {}, "looks like a secret"),
        (["./vendor"], {"environment": ["A=b"]}, "not values"),
        (["./vendor"], {"timeout": "0 s"}, "longer than 0"),
        (["./vendor"], {"answer_bytes": 1}, "1024 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_declared(arguments, more, told):
    with pytest.raises(DeclarationError) as refusal:
        Command(arguments, **more)
    assert told in str(refusal.value)
    assert "abc" not in str(refusal.value)


def test_a_session_that_ends_while_a_program_hangs_leaves_none(tmp_path):
    import subprocess

    (tmp_path / "vendor.py").write_text(
        HEAD + 'print(\'{"id": 0, "output": %d}\' % os.getpid(), flush=True)\ntime.sleep(600)'
    )
    code = (
        "import sys, threading; from pathlib import Path; from pytest_procure.backends import Command;"
        f"loaded = Command([sys.executable, 'vendor.py']).load(Path({str(tmp_path)!r}));"
        "print(loaded.predict([0])[0], flush=True);"
        "threading.Thread(target=lambda: loaded.predict([1]), daemon=True).start()"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not alive(int(said.stdout))


@pytest.mark.parametrize("variable", ["VENDOR_LICENCE", "VENDOR_KEY"])
def test_what_came_from_the_environment_is_not_disclosed_among_its_arguments(tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, "hunter2x")
    arguments = ["--licence=hunter2x", "-uhunter2x", "hunter2x", "postgres:hunter2x@db", "--threads", "4"]
    loaded = Command([sys.executable, "-c", "input()", *arguments]).load(tmp_path)
    told = loaded.describe()["arguments"]
    monkeypatch.delenv(variable)
    assert loaded.describe()["arguments"] == told
    loaded.close()
    assert "hunter" not in str(told)
    assert told[-2:] == ["--threads", "4"]


def test_the_key_among_its_arguments_is_not_disclosed(tmp_path):
    loaded = Command([sys.executable, "-c", "input()", "--key", "hunter2"]).load(tmp_path)
    told = loaded.describe()["arguments"]
    loaded.close()
    assert told[-2:] == ["--key", "[redacted]"]
