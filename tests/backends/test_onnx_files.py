import contextlib
import hashlib

import numpy as np
import pytest
import tiny_onnx as tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.backends import OnnxRuntime
from pytest_procure.backends.onnx_files import external_files
from pytest_procure.errors import ProvisionError

invariant = settings(derandomize=True, max_examples=60)


@pytest.fixture
def folder(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    np.arange(3, dtype="<f4").tofile(models / "w.bin")
    np.arange(3, dtype="<f4").tofile(tmp_path / "secret.bin")
    return models


def model_with(folder, location):
    (folder / "m.onnx").write_bytes(tiny.adds(tiny.external("w", (3,), location)))
    return folder / "m.onnx"


def test_weights_beside_the_model_are_found_and_digested(folder):
    pytest.importorskip("onnxruntime")
    model_with(folder, "w.bin")
    loaded = OnnxRuntime("m.onnx").load(folder)
    assert loaded.predict(np.ones((1, 3), dtype=np.float32)).tolist() == [[1, 2, 3]]
    beside = loaded.describe()["files"][1]
    digest = hashlib.sha256((folder / "w.bin").read_bytes()).hexdigest()
    assert beside == {"file": "w.bin", "bytes": 12, "sha256": digest}


def test_a_model_without_other_files_has_none(folder):
    (folder / "m.onnx").write_bytes(tiny.adds(tiny.weights("w", [1, 2, 3])))
    assert external_files(folder / "m.onnx", shown="m.onnx") == {}


@pytest.mark.parametrize(
    "location", ["../secret.bin", "{folder}/secret.bin", "link.bin", "/etc/hostname", "../se\ncret.bin"]
)
def test_a_name_that_leads_out_of_the_folder_is_refused(folder, location):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    model = model_with(folder, location.format(folder=folder.parent))
    with pytest.raises(ProvisionError, match=r"^[^\n]*outside its own folder[^\n]*$"):
        external_files(model, shown="m.onnx")


def test_weights_that_are_not_there_are_told(folder):
    with pytest.raises(ProvisionError, match=r"keeps weights in `lost\.bin`"):
        external_files(model_with(folder, "lost.bin"), shown="m.onnx")


def test_weights_inside_a_branch_are_found(folder):
    branch = tiny.graph(
        [tiny.node("Identity", ["w"], ["z"])], [], [tiny.port("z")], [tiny.external("w", (3,), "w.bin")]
    )
    body = tiny.graph(
        [tiny.node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)],
        [tiny.port("x", shape=())],
        [tiny.port("y")],
    )
    (folder / "m.onnx").write_bytes(tiny.model(body))
    assert list(external_files(folder / "m.onnx", shown="m.onnx")) == ["w.bin"]


UNKNOWN_GROUP = bytes.fromhex("a306 a406")  # the beginning and the end of a field that ONNX does not know


@pytest.mark.parametrize("group", [UNKNOWN_GROUP, bytes.fromhex("a306 3b 3801 3a0161 3c a406")])
def test_a_group_that_onnx_does_not_know_hides_no_files(folder, group):
    model = model_with(folder, "w.bin")
    model.write_bytes(group + model.read_bytes() + group)
    assert list(external_files(model, shown="m.onnx")) == ["w.bin"]
    model = model_with(folder, "../secret.bin")
    model.write_bytes(group + model.read_bytes() + group)
    with pytest.raises(ProvisionError, match="outside its own folder"):
        external_files(model, shown="m.onnx")


def test_the_runtime_reads_a_model_with_such_a_group(folder):
    pytest.importorskip("onnxruntime")
    model = model_with(folder, "w.bin")
    model.write_bytes(model.read_bytes() + UNKNOWN_GROUP)
    told = OnnxRuntime("m.onnx").load(folder).describe()
    assert [each["file"] for each in told["files"]] == ["m.onnx", "w.bin"]
    assert told["observed"]["precision"] == {"fp32": 1.0}


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        (b"", "it is empty"),
        (UNKNOWN_GROUP[:2], "a group has no end"),
        (UNKNOWN_GROUP[2:], "a field is of no known type"),
        (bytes.fromhex("0f"), "a field is of no known type"),
        (bytes.fromhex("00"), "a field has no valid number"),
        (bytes.fromhex("ba80808010 00"), "a field has no valid number"),  # protobuf may take it for the graph
        (bytes.fromhex("3a05 00"), "a field reaches beyond its message"),
        (bytes.fromhex("0d00"), "a field reaches beyond its message"),
        (bytes.fromhex("80"), "it ends too early"),
        (b"\x08" + b"\xff" * 12, "a number has no end"),
    ],
)
def test_a_model_that_cannot_be_read_to_its_end_is_refused(folder, ending, why):
    model = model_with(folder, "w.bin")
    model.write_bytes(model.read_bytes() + ending if ending else b"")
    with pytest.raises(ProvisionError, match=rf"^`m.onnx` cannot be read to its end .* \({why}\)"):
        external_files(model, shown="m.onnx")


def test_a_name_that_is_no_text_hides_no_other(folder):
    stray = tiny.field(1, 1) + tiny.field(2, 7) + tiny.field(8, "s") + tiny.field(9, bytes(8))
    for name in (b"\xff", b"w.bin\0"):
        entry = tiny.field(13, tiny.field(1, "location") + tiny.field(2, name))
        model = model_with(folder, "w.bin")
        model.write_bytes(model.read_bytes() + tiny.field(7, tiny.field(5, stray + entry)))
        with pytest.raises(
            ProvisionError, match=r"^`m\.onnx` reads its weights from `[^\n]*, which is no name"
        ):
            external_files(model, shown="m.onnx")


def test_weights_are_looked_for_where_the_runtime_does_beside_a_link(folder):
    inner = folder / "inner"
    inner.mkdir()
    model_with(inner, "w.bin")
    np.zeros(3, dtype="<f4").tofile(inner / "w.bin")
    (folder / "m.onnx").symlink_to(inner / "m.onnx")
    assert external_files(folder / "m.onnx", shown="m.onnx") == {"w.bin": folder.resolve() / "w.bin"}


def test_weights_that_a_function_has_by_default_are_found(folder):
    model = model_with(folder, "w.bin")
    np.zeros(3, dtype="<f4").tofile(folder / "v.bin")
    default = tiny.field(11, tiny.field(1, "v") + tiny.field(5, tiny.external("v", (3,), "v.bin")))
    model.write_bytes(model.read_bytes() + tiny.field(25, tiny.field(1, "f") + default))
    assert list(external_files(model, shown="m.onnx")) == ["v.bin", "w.bin"]


@invariant
@given(cut=st.integers(0, 200), noise=st.binary(max_size=40))
def test_a_damaged_file_is_refused_or_has_no_files(tmp_path_factory, cut, noise):
    path = tmp_path_factory.mktemp("models") / "m.onnx"
    path.write_bytes(tiny.adds(tiny.weights("w", [1, 2, 3]))[:cut] + noise)
    with contextlib.suppress(ProvisionError):
        assert external_files(path, shown="m.onnx") == {}


def text(name, value):
    return tiny.field(5, tiny.field(1, name) + tiny.field(4, value) + tiny.field(20, 3))


def compiled(folder, file, embedded=0):
    part = tiny.node("EPContext", ["x"], ["y"], embed_mode=embedded) + text("ep_cache_context", file)
    (folder / "m.onnx").write_bytes(tiny.model(tiny.graph([part], [tiny.port("x")], [tiny.port("y")])))
    return folder / "m.onnx"


def test_a_part_that_was_compiled_before_is_found_in_its_file_and_in_none_where_the_model_holds_it(folder):
    (folder / "blobs").mkdir()
    (folder / "blobs" / "part.bin").write_bytes(b"compiled")
    assert list(external_files(compiled(folder, "blobs/part.bin"), shown="m.onnx")) == ["blobs/part.bin"]
    assert external_files(compiled(folder, b"\x7fELF\xff\0", embedded=1), shown="m.onnx") == {}


@pytest.mark.parametrize("file", ["../secret.bin", "/etc/hostname", "link.bin"])
def test_a_compiled_part_outside_of_the_folder_is_refused(folder, file):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    with pytest.raises(
        ProvisionError, match=r"reads a part that is compiled from `.*`, outside its own folder"
    ):
        external_files(compiled(folder, file), shown="m.onnx")


def test_a_compiled_part_that_is_not_there_is_told(folder):
    with pytest.raises(ProvisionError, match=r"keeps a part that is compiled in `lost\.bin`, which is not"):
        external_files(compiled(folder, "lost.bin"), shown="m.onnx")
