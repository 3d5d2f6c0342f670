"""Write the golden pack: `python tests/report/golden.py`. To be read as a diff before it is committed."""

from pathlib import Path

import sample

from pytest_procure.evidence.record import dumps
from pytest_procure.report.outputs import outputs

FOLDER = Path(__file__).with_name("golden")

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    record = sample.everything()
    (FOLDER / "verdict.json").write_text(dumps(record), encoding="utf-8")
    for name, text in outputs(record).items():
        (FOLDER / name).write_bytes(text.encode("utf-8"))
