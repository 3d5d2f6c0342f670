"""The ticket desk's tickets and models are what its README says; its servers are tried by `make demo-all`."""

import numpy as np
import pytest

from pytest_procure import stats


def test_the_committed_tickets_are_those_that_are_generated(desk, tmp_path, monkeypatch):
    tickets = desk("tickets")
    committed = tickets.FILE.read_bytes()
    monkeypatch.setattr(tickets, "FILE", tmp_path / "tickets.jsonl")
    tickets.write()
    assert tickets.FILE.read_bytes() == committed


def test_each_ticket_holds_its_number_once_and_no_number_of_the_examples(desk):
    tickets = desk("tickets")
    known = tickets.read()
    assert len(known) == tickets.COUNT
    shown = {number for _, number in tickets.EXAMPLES}
    for each in known:
        assert tickets.FORM.findall(each["ticket"]) == [each["number"]]
        assert each["number"] not in shown


def test_scorers_tell_right_from_well_formed(desk):
    tickets = desk("tickets")
    assert tickets.is_exact(" KX-4471\n", "KX-4471")
    assert not tickets.is_exact("ZD-7718", "KX-4471")
    assert tickets.is_well_formed("ZD-7718", "KX-4471")
    assert not tickets.is_well_formed("The number is KX-4471.", "KX-4471")


def values(count=6, length=64):
    return np.random.default_rng(3).normal(0, 1, (count, length)).astype(np.float32)


def test_a_gguf_file_comes_back_as_it_was_written(desk, tmp_path):
    gguf = desk("gguf_file")
    made = gguf.Gguf(
        {"general.block_count": gguf.uint32(7)},
        [
            gguf.Tensor("a.weight", (64, 6), gguf.Q8_0, gguf.to_q8_0(values())),
            gguf.Tensor("b", (3,), 0, b"x" * 12),
        ],
    )
    made.write(tmp_path / "m.gguf")
    assert gguf.Gguf.read(tmp_path / "m.gguf") == made
    (tmp_path / "m.gguf").write_bytes(b"no model")
    with pytest.raises(ValueError, match="is no GGUF file"):
        gguf.Gguf.read(tmp_path / "m.gguf")


def test_quantised_values_are_within_half_a_step(desk):
    gguf = desk("gguf_file")
    given = values()
    blocks = given.reshape(-1, 32)
    raw = np.frombuffer(gguf.to_q8_0(given), dtype=np.uint8).reshape(-1, 34)
    scale = raw[:, :2].copy().view("<f2").astype(np.float32)
    back = scale * raw[:, 2:].view(np.int8)
    assert (np.abs(back - blocks) <= 0.51 * np.abs(scale) + 0.001 * np.abs(blocks)).all()
    raw = np.frombuffer(gguf.to_q4_0(given), dtype=np.uint8).reshape(-1, 18)
    scale = raw[:, :2].copy().view("<f2").astype(np.float32)
    back = scale * (np.concatenate([raw[:, 2:] & 15, raw[:, 2:] >> 4], axis=1).astype(np.float32) - 8)
    within = np.abs(back - blocks) <= 0.51 * np.abs(scale) + 0.001 * np.abs(blocks)
    at_the_end = np.abs(back - blocks) <= 1.01 * np.abs(
        scale
    )  # the sign without the largest value has 7 steps
    assert (within | at_the_end).all()
    assert within.mean() > 0.9


def test_q4_1_blocks_are_read_as_scale_minimum_and_halves(desk):
    gguf = desk("gguf_file")
    halves = np.arange(16, dtype=np.uint8)
    block = np.concatenate([np.array([0.5, -1.0], dtype="<f2").view(np.uint8), halves | (15 - halves) << 4])
    read = gguf.as_float32(gguf.Tensor("a", (32, 1), gguf.Q4_1, block.tobytes()))
    assert read[0, :16].tolist() == [0.5 * half - 1 for half in range(16)]
    assert read[0, 16:].tolist() == [0.5 * (15 - half) - 1 for half in range(16)]


@pytest.mark.parametrize(("right", "accepted"), [(139, True), (135, True), (52, False)])
def test_the_bar_on_exact_copies_decides_what_was_measured(right, accepted):
    candidates = 3  # any of them may be awarded, so each has a third of the risk
    bounds = stats.share_bounds(right, 150, confidence=1 - 0.05 / candidates)
    assert (bounds.low >= 0.8) is accepted
    assert (bounds.high < 0.8) is not accepted
