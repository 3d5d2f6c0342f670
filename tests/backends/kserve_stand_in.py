"""The KServe V2 half of the stand-in server, written from the protocol's text and not from our client."""

import json
import os
import struct

#: What `EXTENSION` in the environment says: whether the server announces, and takes, raw bytes.
BINARY = os.environ.get("EXTENSION") == "binary"
MODELS = {
    "doubler": ([("x", "FP32", [-1, 3])], [("y", "FP32", [-1, 3])]),
    "whole": ([("x", "INT64", [2])], [("y", "INT64", [2])]),
    "upper": ([("text", "BYTES", [-1, 1])], [("text", "BYTES", [-1, 1])]),
    "pair": (
        [("a", "FP64", [-1, 2]), ("b", "BOOL", [-1, 2])],
        [("sum", "FP64", [-1, 2]), ("any", "BOOL", [-1])],
    ),
    "odd": ([("x", "COMPLEX", [-1])], [("y", "FP32", [-1])]),
    "odder": ([("x", ["FP32"], [-1])], [("y", "FP32", [-1])]),
    "silent": ([], []),
}
CODES = {"FP32": "f", "FP64": "d", "INT64": "q", "BOOL": "?"}


def listed(tensors):
    return [{"name": name, "datatype": kind, "shape": shape} for name, kind, shape in tensors]


def answer_kserve(handler, asked):
    """Answer GET /v2, GET /v2/models/NAME, POST /v2/models/NAME/infer."""
    parts = handler.path.strip("/").split("/")
    if parts == ["v2"]:
        extensions = ["binary_tensor_data"] if BINARY else []
        handler.say(200, {"name": "stand-in", "version": "1.0", "extensions": extensions})
    elif len(parts) < 3 or parts[2] not in MODELS:
        handler.say(404, {"error": f"there is no {handler.path}"})
    elif parts[-1] == "infer":
        infer(handler, parts[2], asked)
    else:
        takes, gives = MODELS[parts[2]]
        handler.say(
            200, {"name": parts[2], "platform": "none", "inputs": listed(takes), "outputs": listed(gives)}
        )


def infer(handler, model, asked):
    size = int(handler.headers.get("Inference-Header-Content-Length") or len(asked))
    is_binary = handler.headers["Content-Type"] == "application/octet-stream"
    if is_binary != BINARY:
        handler.say(400, {"error": f"a request of type {handler.headers['Content-Type']}"})
        return
    head, raw = json.loads(asked[:size]), asked[size:]
    given = {}
    for each in head["inputs"]:
        if is_binary:
            length = each["parameters"]["binary_data_size"]
            each["data"], raw = unpacked(each["datatype"], raw[:length]), raw[length:]
        given[each["name"]] = each
    outputs = run(model, given)
    wanted = {each["name"] for each in head.get("outputs", [])} or {each["name"] for each in outputs}
    answer(handler, model, [each for each in outputs if each["name"] in wanted])


def run(model, given):
    if model == "pair":
        a, b = given["a"], given["b"]
        total = [x + y for x, y in zip(a["data"], b["data"], strict=True)]
        return [
            {"name": "sum", "datatype": "FP64", "shape": a["shape"], "data": total},
            {"name": "any", "datatype": "BOOL", "shape": [1], "data": [any(b["data"])]},
        ]
    (each,) = given.values()
    made = [value.upper() if model == "upper" else 2 * value for value in each["data"]]
    name = "text" if model == "upper" else "y"
    return [{"name": name, "datatype": each["datatype"], "shape": each["shape"], "data": made}]


def answer(handler, model, outputs):
    raw = b""
    if BINARY:
        for each in outputs:
            part = packed(each["datatype"], each.pop("data"))
            each["parameters"] = {"binary_data_size": len(part)}
            raw += part
    head = json.dumps({"model_name": model, "outputs": outputs}).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/octet-stream" if BINARY else "application/json")
    handler.send_header("Content-Length", str(len(head) + len(raw)))
    if BINARY:
        handler.send_header("Inference-Header-Content-Length", str(len(head)))
    handler.end_headers()
    handler.wfile.write(head + raw)


def unpacked(datatype, raw):
    if datatype != "BYTES":
        code = CODES[datatype]
        return list(struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw))
    found = []
    while raw:
        (length,) = struct.unpack_from("<I", raw)
        found.append(raw[4 : 4 + length].decode())
        raw = raw[4 + length :]
    return found


def packed(datatype, values):
    if datatype != "BYTES":
        return struct.pack(f"<{len(values)}{CODES[datatype]}", *values)
    return b"".join(struct.pack("<I", len(value.encode())) + value.encode() for value in values)
