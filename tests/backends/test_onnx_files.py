import hashlib

import numpy as np
import pytest
import tiny_onnx as tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.backends import OnnxRuntime
from pytest_procure.backends.onnx_files import external_files
from pytest_procure.errors import ProvisionError

invariant = settings(deadline=None, derandomize=True, max_examples=60)


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


@pytest.mark.parametrize("location", ["../secret.bin", "{folder}/secret.bin", "link.bin", "/etc/hostname"])
def test_a_name_that_leads_out_of_the_folder_is_refused(folder, location):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    model = model_with(folder, location.format(folder=folder.parent))
    with pytest.raises(ProvisionError, match="outside its own folder"):
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


@invariant
@given(cut=st.integers(0, 200), noise=st.binary(max_size=40))
def test_a_damaged_file_is_left_to_the_runtime(tmp_path_factory, cut, noise):
    path = tmp_path_factory.mktemp("models") / "m.onnx"
    path.write_bytes(tiny.adds(tiny.weights("w", [1, 2, 3]))[:cut] + noise)
    assert external_files(path, shown="m.onnx") == {}
