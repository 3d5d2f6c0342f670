"""A random two-layer Llama as GGUF, of half a megabyte: a real server starts it at once, and it babbles.

Its vocabulary is 64 words of three letters, which it answers with; letters and bytes are there to be read.
"""

import itertools
import struct
import sys
from pathlib import Path

import numpy as np

DESK = Path(__file__).parents[2] / "example_suite" / "ticket_desk"
UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
WIDTH, HIDDEN, HEADS, HEADS_KV, LAYERS = 64, 128, 4, 2, 2


def tiny_gguf(path):
    """Write the file."""
    sys.path.insert(0, str(DESK))
    try:
        from gguf_file import F16, F32, Gguf, Tensor, uint32
    finally:
        sys.path.remove(str(DESK))
    special = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    special += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    words = [f"\u2581{first}a{last}" for first, last in itertools.product("bdfgklmp", "nrstlmxd")]
    letters = [chr(code) for code in range(33, 127)] + ["\u2581"]
    tokens = [*special, *((word, NORMAL) for word in [*words, *letters])]
    draw = np.random.default_rng(0)
    embedding = draw.normal(0, 0.2, (len(tokens), WIDTH))
    output = np.zeros_like(embedding)  # only words are ever answered
    output[len(special) : len(special) + len(words)] = draw.normal(0, 1, (len(words), WIDTH))

    def tensor(name, values, *, half=False):
        kind, code = (F16, "<f2") if half else (F32, "<f4")
        return Tensor(name, tuple(reversed(values.shape)), kind, values.astype(code).tobytes())

    def random(name, *shape):
        return tensor(name, draw.normal(0, 0.2, shape))

    tensors = [
        tensor("token_embd.weight", embedding, half=True),
        tensor("output.weight", output, half=True),
        tensor("output_norm.weight", np.ones(WIDTH)),
    ]
    head = WIDTH // HEADS
    for layer in range(LAYERS):
        part = f"blk.{layer}"
        tensors += [
            random(f"{part}.attn_q.weight", WIDTH, WIDTH),
            random(f"{part}.attn_k.weight", HEADS_KV * head, WIDTH),
            random(f"{part}.attn_v.weight", HEADS_KV * head, WIDTH),
            random(f"{part}.attn_output.weight", WIDTH, WIDTH),
            random(f"{part}.ffn_gate.weight", HIDDEN, WIDTH),
            random(f"{part}.ffn_up.weight", HIDDEN, WIDTH),
            random(f"{part}.ffn_down.weight", WIDTH, HIDDEN),
            tensor(f"{part}.attn_norm.weight", np.ones(WIDTH)),
            tensor(f"{part}.ffn_norm.weight", np.ones(WIDTH)),
        ]
    fields = {
        "general.architecture": text("llama"),
        "llama.context_length": uint32(1024),
        "llama.embedding_length": uint32(WIDTH),
        "llama.block_count": uint32(LAYERS),
        "llama.feed_forward_length": uint32(HIDDEN),
        "llama.attention.head_count": uint32(HEADS),
        "llama.attention.head_count_kv": uint32(HEADS_KV),
        "llama.rope.dimension_count": uint32(head),
        "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", FLOAT32, 1e-5),
        "tokenizer.ggml.model": text("llama"),
        "tokenizer.ggml.tokens": array(STRING, [packed(token) for token, _ in tokens]),
        "tokenizer.ggml.scores": array(FLOAT32, [struct.pack("<f", -i) for i in range(len(tokens))]),
        "tokenizer.ggml.token_type": array(5, [struct.pack("<i", kind) for _, kind in tokens]),
        "tokenizer.ggml.unknown_token_id": uint32(0),
        "tokenizer.ggml.bos_token_id": uint32(1),
        "tokenizer.ggml.eos_token_id": uint32(2),
    }
    Gguf(fields, tensors).write(path)


def packed(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def text(value):
    return struct.pack("<I", STRING) + packed(value)


def array(kind, values):
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(values)
