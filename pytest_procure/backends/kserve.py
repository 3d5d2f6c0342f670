"""Servers that speak KServe's V2 protocol over HTTP: Triton, MLServer, KServe itself.

load ──► /v2 and /v2/models/NAME: what the server is, and which tensors the model takes and gives
body ──► a sample, checked against these, as JSON or as raw bytes where the server says it takes them
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np

from pytest_procure.calling import declared, of_kind
from pytest_procure.errors import DataError, DeclarationError, ProvisionError, unknown

from .decode import Decode, decoder, decoder_name
from .endpoints import readers
from .endpoints.failure import line
from .endpoints.loaded import LoadedHttp, checked_sending, connection_to, fields_of
from .endpoints.target import (
    Target,
    check_key,
    check_url,
    checked_headers,
    parse_url,
    refuse_proxy,
    secret,
    target_at,
)
from .endpoints.tensors import CODES, TEXT, is_known, packed_texts
from .openai import certificates, need_extra
from .protocol import Sending

_BINARY = "binary_tensor_data"
_MOST_METADATA = 1 << 20
_METADATA_S = 30.0
_WIDEST = 10**12  # stands for any length of a dimension when the room for a request's JSON is measured
_WHAT = "a KServeV2"


@declared
@dataclass(frozen=True, slots=True)
class KServeV2:
    """Declares `model` at a server (`http://host:8000`) of KServe's V2 protocol.

    A sample is the tensor of a model with one input, a text for one of type BYTES, or a mapping of input
    names to these; `inputs` maps a model input to the key of a sample. Each request asks one sample, as a
    batch of one where the model takes batches. An array has to be of the input's own datatype, unless `cast`
    converts it. `output` names the one that is used, and without it the answer of a model with several is a
    mapping; `decode` is that of an OnnxRuntime: "argmax", "top-5", or a function of the output as a batch of
    one. Raw bytes are sent where the server says that it takes them, JSON elsewhere; `binary` says so for it.

    Key, header fields, connections and retries are those of an OpenAIEndpoint.
    """

    url: str
    _: KW_ONLY
    model: str
    version: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    output: str = ""
    decode: Decode = None
    cast: bool = False
    binary: bool | None = None
    key_env: str = ""
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str | Path = ""
    connections: int = 256
    retries: int = 0
    load_processes: int = 1

    remote: ClassVar[bool] = True  # what answers runs elsewhere: nothing is there to be hosted

    def __post_init__(self) -> None:
        check_url(self.url, what=_WHAT)
        if not isinstance(self.model, str) or not self.model:
            raise DeclarationError(f"`model={self.model!r}` of {_WHAT}; expected the model's name")
        if not isinstance(self.version, str):
            raise DeclarationError(f"`version={self.version!r}` of {_WHAT}; expected a text, as in '3'")
        of_kind(self.headers, Mapping, "headers", of=_WHAT, expected="a mapping of fields to their values")
        if self.binary not in {True, False, None}:
            raise DeclarationError(f"`binary={self.binary!r}` of {_WHAT}; expected True, False or None")
        decoder(self.decode)
        check_key(self.key_env, self.key_header, what=_WHAT)
        checked_headers(dict(self.headers), what=_WHAT)
        self._sending()

    def _sending(self) -> Sending:
        return checked_sending(
            connections=self.connections,
            retries=self.retries,
            load_processes=self.load_processes,
            count_tokens=None,
            what=_WHAT,
        )

    def load(self, base: Path) -> LoadedKServe:
        """Ask the server what it is and what the model takes.

        Raises `ProvisionError` where it does not answer, has no such model, or the model takes and gives
        something else than is declared here.
        """
        need_extra("KServeV2")
        if self.key_env:
            secret(self.key_env)
        split = parse_url(self.url, what=_WHAT)
        root = split.path.rstrip("/")
        path = f"{root}/v2/models/{quote(self.model, safe='')}"
        if self.version:
            path += f"/versions/{quote(self.version, safe='')}"
        target = target_at(
            split,
            f"{path}/infer",
            reader="kserve",
            key=self.key_env,
            key_field=self.key_header,
            headers=tuple(self.headers.items()),
            ca=certificates(base, self.ca_file),
        )
        refuse_proxy(target)
        server = _metadata(target, f"{root}/v2", "the server")
        model = _metadata(target, path, f"model `{self.model}`")
        return LoadedKServe(self, target, server, model, self._sending())


@dataclass(frozen=True, slots=True)
class Tensor:
    """What the server says of one input or output; a length of -1 is any."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    @property
    def label(self) -> str:
        """It in words."""
        return f"{self.datatype} of shape {list(self.shape)}"


class LoadedKServe(LoadedHttp):
    """A model behind a server, with the tensors that it takes and gives."""

    def __init__(
        self,
        declared: KServeV2,
        target: Target,
        server: Mapping[str, Any],
        model: Mapping[str, Any],
        sending: Sending,
    ) -> None:
        self._declared = declared
        self._inputs = _tensors(model, "inputs", declared.model)
        self._outputs = _tensors(model, "outputs", declared.model)
        self._check_declared()
        self._decoder = decoder(declared.decode)
        extensions = server.get("extensions")
        announced = isinstance(extensions, list) and _BINARY in extensions
        self._binary = announced if declared.binary is None else declared.binary
        target = replace(target, select=(declared.output,) if declared.output else ())
        if self._binary:
            self._room = len(_json(self._widest()))
            size = ("Inference-Header-Content-Length", str(self._room))
            target = replace(target, media="application/octet-stream", headers=(*target.headers, size))
        disclosed = {
            "runtime": line(f"{server.get('name', 'a server')} {server.get('version', '')}".strip()),
            "protocol": "KServe V2",
            "model": declared.model,
            "model_version": declared.version or None,
            "platform": line(model.get("platform", "")) or None,
            "inputs": {each.name: each.label for each in self._inputs},
            "outputs": {each.name: each.label for each in self._outputs},
            "tensors_as": "raw bytes" if self._binary else "JSON",
            "keys": dict(declared.inputs),
            "output": declared.output or None,
            "decode": decoder_name(declared.decode),
            "cast": declared.cast,
        }
        super().__init__(target, sending, self._asked, disclosed)

    def output(self, data: bytes) -> Any:
        """Make an output of the tensors of an answer: decoded, or the row of the only sample."""
        found = readers.output("kserve", data)
        used = next(iter(found.values())) if len(found) == 1 else found
        if self._declared.decode is not None:
            return self._decoder(used)[0]
        if isinstance(used, dict):
            return {name: _row(values) for name, values in used.items()}
        return _row(used)

    def describe(self) -> dict[str, Any]:
        """Disclose the server, the model's tensors, and where and how it is asked."""
        told = super().describe()
        hidden = "Inference-Header-Content-Length"
        return {**told, "header_fields": [name for name in told["header_fields"] if name != hidden]}

    def _check_declared(self) -> None:
        declared, names = self._declared, [each.name for each in self._inputs]
        for name in declared.inputs:
            if name not in names:
                raise ProvisionError(f"model `{declared.model}`: {unknown('input', name, names)}")
        given = [each.name for each in self._outputs]
        if declared.output and declared.output not in given:
            raise ProvisionError(f"model `{declared.model}`: {unknown('output', declared.output, given)}")
        of_one = declared.decode is not None and not callable(declared.decode)
        if of_one and not declared.output and len(given) > 1:
            raise ProvisionError(
                f"model `{declared.model}` gives {', '.join(given)}, and decode={declared.decode!r} takes "
                "one; expected `output=`"
            )

    def _asked(self, sample: Any) -> bytes:
        """Write a request."""
        given = self._values(sample)
        tensors = [(each, *self._tensor(each, given[each.name])) for each in self._inputs]
        if not self._binary:
            return _json(self._head([(each, shape, _data(each, values)) for each, shape, values in tensors]))
        raws = [_raw(each, values) for each, _, values in tensors]
        sized = zip(tensors, raws, strict=True)
        head = _json(self._head([(each, shape, len(raw)) for (each, shape, _), raw in sized]))
        return head.ljust(self._room) + b"".join(raws)

    def _head(self, tensors: Sequence[tuple[Tensor, Sequence[int], Any]]) -> dict[str, Any]:
        """Give a request's JSON: with data, or with how many bytes of them follow."""
        key = "parameters" if self._binary else "data"
        head: dict[str, Any] = {
            "inputs": [
                {
                    "name": each.name,
                    "shape": list(shape),
                    "datatype": each.datatype,
                    key: {"binary_data_size": data} if self._binary else data,
                }
                for each, shape, data in tensors
            ]
        }
        wanted = [each.name for each in self._outputs if each.name == (self._declared.output or each.name)]
        if self._binary:
            head["outputs"] = [{"name": name, "parameters": {"binary_data": True}} for name in wanted]
        elif self._declared.output:
            head["outputs"] = [{"name": name} for name in wanted]
        return head

    def _widest(self) -> dict[str, Any]:
        """Give the longest JSON that a request may have: all of them get as much room, so one header fits."""
        return self._head([(each, [_WIDEST] * (len(each.shape) + 1), _WIDEST) for each in self._inputs])

    def _values(self, sample: Any) -> dict[str, Any]:
        keys = {each.name: self._declared.inputs.get(each.name, each.name) for each in self._inputs}
        if not isinstance(sample, Mapping):
            if len(keys) == 1 and not self._declared.inputs:
                return dict.fromkeys(keys, sample)
            raise DataError(
                f"a sample is a {type(sample).__name__}, and model `{self._declared.model}` takes "
                f"{', '.join(keys)}; expected a mapping with {', '.join(keys.values())}"
            )
        for key in keys.values():
            if key not in sample:
                raise DataError(f"a sample: {unknown('key', key, map(str, sample))}")
        return {name: sample[key] for name, key in keys.items()}

    def _tensor(self, wanted: Tensor, value: Any) -> tuple[list[int], Any]:
        """Give the shape and the values of an input. Raises `DataError` where the model takes another."""
        where = f"input `{wanted.name}` of model `{self._declared.model}` takes {wanted.label}"
        if wanted.datatype == TEXT:
            values = _text_array(value, where)
        else:
            values = _numbers(value, wanted, where, cast=self._declared.cast)
        for shape in ((1, *values.shape), values.shape):
            if len(shape) == len(wanted.shape) and all(
                own in {-1, length} for own, length in zip(wanted.shape, shape, strict=True)
            ):
                return list(shape), values
        raise DataError(f"a sample has shape {list(values.shape)}, and {where}")


def _metadata(target: Target, path: str, what: str) -> Mapping[str, Any]:
    """Ask the server of itself, or of a model. Raises `ProvisionError`."""
    connection = connection_to(target, timeout=_METADATA_S)
    where = f"{target.scheme}://{target.authority}{path}"
    try:
        connection.request("GET", path, headers=fields_of(target))
        answer = connection.getresponse()
        body = answer.read(_MOST_METADATA + 1)
    except (OSError, http.client.HTTPException) as error:
        raise ProvisionError(f"{what} does not answer at {where}: {type(error).__name__}") from None
    finally:
        connection.close()
    try:
        told = json.loads(body) if len(body) <= _MOST_METADATA else None
    except (ValueError, RecursionError):
        told = None
    hidden = target.hidden()
    said = line(body[:120].decode("utf-8", "replace"))
    said = said.replace(hidden, "[key]") if hidden else said
    if answer.status != 200:
        raise ProvisionError(f"{what} is not there: {where} answers HTTP {answer.status}: {said}")
    if not isinstance(told, dict):
        raise ProvisionError(f"{what}: {where} answers what is no KServe V2 metadata: {said}")
    return told


def _tensors(model: Mapping[str, Any], which: str, name: str) -> tuple[Tensor, ...]:
    listed = model.get(which)
    if not isinstance(listed, list) or not listed:
        raise ProvisionError(
            f"model `{name}` does not say which {which} it has, so nothing can be checked; expected them in "
            "its metadata (MLServer: in `model-settings.json`)"
        )
    found = []
    for each in listed:
        known = each if isinstance(each, dict) else {}
        shape, datatype = known.get("shape"), known.get("datatype")
        if (
            not isinstance(known.get("name"), str)
            or not isinstance(shape, list)
            or not all(type(length) is int for length in shape)
        ):
            raise ProvisionError(f"model `{name}` says of its {which} what cannot be read: {line(each)}")
        if not is_known(datatype):
            raise ProvisionError(
                f"model `{name}`: `{known['name']}` is of datatype {line(datatype)}; known are "
                f"{', '.join([*CODES, TEXT])}"
            )
        found.append(Tensor(known["name"], datatype, tuple(shape)))
    return tuple(found)


def _numbers(value: Any, wanted: Tensor, where: str, *, cast: bool) -> np.ndarray[Any, Any]:
    kind = np.dtype(f"<{CODES[wanted.datatype]}")
    is_typed = isinstance(value, np.ndarray | np.generic)
    try:
        values = np.asarray(value, order="C")
        if values.dtype.kind not in "biuf":
            raise DataError(f"a sample is of type {values.dtype}, and {where}")
        if is_typed and values.dtype != kind and not cast:
            raise DataError(
                f"a sample is of type {values.dtype}, and {where}; convert the dataset, or declare "
                "`cast=True`"
            )
        if not is_typed and kind.kind in "biu" and values.dtype.kind == "f":
            raise DataError(f"a sample holds fractions, and {where}")
        return np.atleast_1d(values.astype(kind))
    except (ValueError, OverflowError) as error:
        raise DataError(f"a sample cannot be a tensor ({line(error)}), and {where}") from None


def _text_array(value: Any, where: str) -> np.ndarray[Any, Any]:
    values = np.asarray([value] if isinstance(value, str | bytes) else value, dtype=object)
    if not all(isinstance(each, str | bytes) for each in values.reshape(-1)):
        raise DataError(f"a sample is no text, and {where}")
    return values


def _data(tensor: Tensor, values: Any) -> list[Any]:
    if tensor.datatype == TEXT:
        return [each if isinstance(each, str) else each.decode("utf-8", "replace") for each in values.flat]
    return list(values.reshape(-1).tolist())


def _raw(tensor: Tensor, values: Any) -> bytes:
    if tensor.datatype != TEXT:
        return bytes(values.tobytes())
    return packed_texts([each.encode() if isinstance(each, str) else each for each in values.flat])


def _json(head: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(head, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        raise DataError("a sample holds NaN or infinity, which JSON cannot; expected numbers") from None


def _row(values: Any) -> Any:
    """Give the row of a batch of one; of one value, the value itself."""
    row = values[0] if values.ndim > 1 and values.shape[0] == 1 else values
    return row.reshape(-1)[0] if row.size == 1 else row
