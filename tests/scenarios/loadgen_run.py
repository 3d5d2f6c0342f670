"""Runs the real LoadGen once, in a process of its own: it keeps global state and dies on wrong settings.

Arguments: settings as JSON, and a folder for its logs. Prints the loaded set and the samples of each query.
"""

from __future__ import annotations

import json
import sys

import mlperf_loadgen as loadgen  # type: ignore[import-not-found]  # an extra of the tests

settings = json.loads(sys.argv[1])
total, count = settings.pop("total"), settings.pop("performance_sample_count")
asked = loadgen.TestSettings()
asked.mode = loadgen.TestMode.PerformanceOnly
asked.scenario = getattr(loadgen.TestScenario, settings.pop("scenario"))
for name, value in settings.items():
    setattr(asked, name, value)
loaded: list[list[int]] = []
issued: list[list[int]] = []


def issue(queries):
    issued.append([query.index for query in queries])
    loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(query.id, 0, 0) for query in queries])


sut = loadgen.ConstructSUT(issue, lambda: None)
library = loadgen.ConstructQSL(total, count, lambda samples: loaded.append(list(samples)), lambda _: None)
output = loadgen.LogOutputSettings()
output.outdir = sys.argv[2]
logs = loadgen.LogSettings()
logs.log_output = output
logs.enable_trace = True
loadgen.StartTestWithLogSettings(sut, library, asked, logs, "")
sys.stdout.write(json.dumps({"loaded": loaded[0], "issued": issued}))
