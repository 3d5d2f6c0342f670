import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_procure.cli import COMMANDS, Command, main, printable

PROCURE = [sys.executable, "-c", "import sys; from pytest_procure.cli import main; sys.exit(main())"]


def test_help_names_every_command_and_what_it_is_for(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert all(name in out and one.purpose in out for name, one in COMMANDS.items())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_answers_help_itself(capsys, name):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"procure {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["mlpref"], "did you mean `mlperf`"),
        (["--fast"], "required"),
        (["mlperf", "show"], "PATH"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_2(capsys, arguments, message):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("procure: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_command_is_a_module_with_main_and_its_status_is_the_exit_status(tmp_path, monkeypatch, capsys):
    (tmp_path / "extra_command.py").write_text(
        "def main(arguments):\n    print(arguments)\n    return 3\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "extra", Command("extra_command", "be extra"))
    assert main(["extra", "a", "--b", "--help"]) == 3
    assert capsys.readouterr().out == "['a', '--b', '--help']\n"


def test_an_error_of_a_command_prints_nothing_a_terminal_obeys(tmp_path, monkeypatch, capsys):
    (tmp_path / "hostile_command.py").write_text(
        "from pytest_procure.errors import ProcureError\n"
        "def main(arguments):\n    raise ProcureError('\\x1b[2Jgone\\nsecond line')\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "hostile", Command("hostile_command", "be hostile"))
    assert main(["hostile"]) == 2
    assert capsys.readouterr().err == "procure: \ufffd[2Jgone\ufffdsecond line\n"


def test_an_interrupt_ends_with_130(tmp_path, monkeypatch):
    (tmp_path / "slow_command.py").write_text("def main(arguments):\n    raise KeyboardInterrupt\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "slow", Command("slow_command", "be slow"))
    assert main(["slow"]) == 130


def test_a_reader_that_goes_away_ends_it_without_a_word():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run([*PROCURE, "--help"], stdout=gone, stderr=subprocess.PIPE, check=False)
    assert b"Traceback" not in done.stderr


def test_nothing_heavy_is_imported_to_say_help():
    script = (
        "import sys\nfrom pytest_procure.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'jinja2', 'pytest', 'pytest_procure.mlperf'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_reading_published_results_needs_the_standard_library_only():
    script = (
        "import sys\nimport pytest_procure.mlperf, pytest_procure.mlperf.cli\n"
        "heavy = {'numpy', 'scipy', 'jinja2', 'pytest'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_version_and_printable_text(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("procure ")
    assert printable("Müller & Söhne 9 µs ≤") == "Müller & Söhne 9 µs ≤"


def test_output_that_does_not_fit_on_the_disk_ends_in_one_line():
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}  # else argparse writes by itself, and asks for nothing
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROCURE, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=buffered
        )
    assert (done.returncode, done.stderr) == (
        2,
        "procure: the output cannot be written: No space left on device\n",
    )
