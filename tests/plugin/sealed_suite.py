"""A suite to be sealed, and how its files and endings are read."""

import json

READS = """
@pytest.mark.requirement(owner="post room", risk="letters go astray")
@pytest.mark.bar("accuracy", at_least=0.9, design=0.97)
@pytest.mark.scenario("single_stream", count=400)
def test_reads(procure):
    '''Does it read?'''
    procure.run()
"""
WRITES = READS.replace("test_reads", "test_writes").replace("Does it read?", "Does it write?")
INI = "[pytest]\nprocure_require_seal = true\nprocure_expires = 2999-12-31\n"


def seal(suite):
    ended = suite.run("--procure-seal")
    assert ended.status == 0, ended.text
    return suite


def spec(suite):
    return json.loads((suite.path / "procure-spec.json").read_text("utf-8"))


def ledger(suite):
    lines = (suite.path / "procure-ledger.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def kept_out(ended, sentence):
    """The offer is not accepted, the sentence says why, and nobody sees a traceback."""
    assert ended.status != 0
    assert sentence in ended.words, ended.words
    assert "good is accepted." not in ended.words
    assert ended.record["outcome"]["accepted"] is False
    assert ended.record["outcome"]["exit_status"] == ended.status
    return ended.record
