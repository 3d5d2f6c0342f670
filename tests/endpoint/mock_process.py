"""The project's own mock endpoint, as a process: what a client is told is held against the mock's own log."""

import http.client
import json
import subprocess
import sys
from pathlib import Path

from pytest_procure import OpenAIEndpoint
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario

MOCK = Path(__file__).parents[2] / "benchmarks" / "mock_endpoint.py"


class Texts:
    """A slice whose sample k is a text."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def take(self, indices):
        return [f"prompt {k}" for k in indices]


class Mock:
    """A running mock."""

    def __init__(self, *arguments):
        command = [sys.executable, str(MOCK), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def behave(self, **behaviour):
        self.ask("POST", "/behave", json.dumps(behaviour))

    def log(self):
        return self.ask("GET", "/log")

    def records(self):
        """What was done to each query of the last run, by its number; retries behind each other."""
        found = {}
        for record in self.log()["records"]:
            run, _, number = record["id"].rpartition("-")
            found.setdefault(run, {}).setdefault(int(number.partition(".")[0]), []).append(record)
        return list(found.values())[-1]

    def endpoint(self, **more):
        return OpenAIEndpoint(self.url, model="mock", **more).load(Path())

    def run(self, name="server", *, endpoint=None, samples=40, **scenario):
        """Behaviour is set before; the warm-up would take its turns of what happens to each nth request."""
        scenario.setdefault("warmup", 0)
        return drive(endpoint or self.endpoint(), Texts(samples), Scenario.declare(name, **scenario))

    def end(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
