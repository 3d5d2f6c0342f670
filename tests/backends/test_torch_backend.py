import json
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from contract import keeps_the_contract, refuses

from pytest_procure.backends import TorchModule
from pytest_procure.backends.torch_files import program
from pytest_procure.errors import DeclarationError, ProvisionError
from pytest_procure.telemetry.environment import environment

ROWS = np.array([[1, 2, 9], [7, 1, 1], [0, 5, 4]], dtype=np.float32)
ROWS.flags.writeable = False  # as a dataset gives them


def test_without_torch_the_command_to_run_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    refuses(TorchModule(dict), tmp_path, "pip install 'pytest-procure[torch]'")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"threads": 0}, "threads=0"),
        ({"decode": "argmx"}, "expected 'argmax'"),
        ({"decode": "top-0"}, "expected 'argmax'"),
        ({"compile": "max-autotun"}, "did you mean `max-autotune`?"),
        ({"compile": []}, "mode of compile `[]`"),
        ({"compile": 1}, "mode of compile `1`"),
        ({"trust_pickle": 1}, "`trust_pickle` of a TorchModule is no True or False"),
        ({"sha256": "0" * 64}, "there is none"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_declared(arguments, told):
    with pytest.raises(DeclarationError) as refusal:
        TorchModule(dict, **arguments)
    assert told in str(refusal.value)


def test_what_makes_no_module_is_refused_when_declared():
    with pytest.raises(DeclarationError, match=r"expected an nn\.Module"):
        TorchModule(3)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def linear(torch):
    """A module that gives back its rows."""
    module = torch.nn.Linear(3, 3)
    with torch.no_grad():
        module.weight.copy_(torch.eye(3))
        module.bias.zero_()
    return module


def test_a_torch_module_keeps_the_contract(linear, tmp_path):
    declared = TorchModule(linear, decode="argmax")
    keeps_the_contract(declared, tmp_path, [(ROWS, [2, 0, 1]), (ROWS[1:2], [0])])


def test_a_torch_module_keeps_the_contract_on_lists(linear, tmp_path):
    declared = TorchModule(linear, decode="argmax", dtype="float32")
    keeps_the_contract(declared, tmp_path, [(ROWS.tolist(), [2, 0, 1])])


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_a_state_is_read_into_the_module_made(torch, linear, tmp_path, suffix):
    if suffix == "pt":
        torch.save(linear.state_dict(), tmp_path / "state.pt")
    else:
        pytest.importorskip("safetensors.torch").save_file(
            linear.state_dict(), tmp_path / "state.safetensors"
        )
    declared = TorchModule(lambda: torch.nn.Linear(3, 3), state=f"state.{suffix}")
    loaded = declared.load(tmp_path)
    assert np.array_equal(loaded.predict(ROWS), ROWS)
    assert loaded.describe()["files"][0]["file"] == f"state.{suffix}"


class Poison:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("plain", [True, False])
def test_a_state_that_holds_code_is_refused_and_not_run(torch, tmp_path, plain):
    mark = tmp_path / "ran"
    if plain:
        (tmp_path / "state.pt").write_bytes(pickle.dumps({"weight": Poison(mark)}))
    else:
        torch.save({"weight": Poison(mark)}, tmp_path / "state.pt")
    refuses(TorchModule(lambda: torch.nn.Linear(3, 3), state="state.pt"), tmp_path, "`state.pt`")
    assert not mark.exists()


@pytest.mark.parametrize("name", ["state.pt", "state.safetensors"])
def test_what_is_no_state_is_told(torch, tmp_path, name):
    (tmp_path / name).write_bytes(b"hello, this is no state")
    refuses(TorchModule(lambda: torch.nn.Linear(3, 3), state=name), tmp_path, f"`{name}`")


def test_the_state_of_another_module_is_told(torch, linear, tmp_path):
    torch.save(linear.state_dict(), tmp_path / "state.pt")
    refuses(
        TorchModule(lambda: torch.nn.Linear(4, 4), state="state.pt"), tmp_path, "is no state of this module"
    )


def test_a_missing_state_is_told_with_the_nearest_name(torch, linear, tmp_path):
    torch.save(linear.state_dict(), tmp_path / "state.pt")
    refuses(TorchModule(linear, state="stat.pt"), tmp_path, "did you mean `state.pt`?")


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta"])
def test_a_device_that_is_not_there_is_told_with_those_that_are(linear, tmp_path, device):
    refuses(TorchModule(linear, device=device), tmp_path, f"no device `{device}`", "it has cpu")


@pytest.mark.parametrize("dtype", ["int8", "float33", "nn"])
def test_a_type_that_is_no_float_is_told(linear, tmp_path, dtype):
    refuses(TorchModule(linear, dtype=dtype), tmp_path, f"dtype='{dtype}'")


def test_what_a_function_makes_has_to_be_a_module(torch, tmp_path):
    refuses(TorchModule(dict), tmp_path, "made a dict")


def test_a_function_that_fails_is_told(torch, tmp_path):
    def make():
        raise FileNotFoundError("vocabulary.json")

    refuses(TorchModule(make), tmp_path, "raised FileNotFoundError: vocabulary.json")


def test_scores_of_more_than_classes_are_no_labels(torch, tmp_path):
    loaded = TorchModule(torch.nn.Identity(), decode="argmax").load(tmp_path)
    with pytest.raises(TypeError, match=r"expected \(batch, classes\)"):
        loaded.predict(ROWS[:1, None])


def test_threads_hold_in_the_threads_that_serve(torch, linear, tmp_path):
    before = torch.get_num_threads()
    loaded = TorchModule(linear, threads=before + 1).load(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == before + 1
    loaded.close()


def test_two_candidates_may_share_a_module(linear, tmp_path):
    half = TorchModule(linear, dtype="bfloat16", decode="argmax").load(tmp_path)
    full = TorchModule(linear, decode="argmax").load(tmp_path)
    assert half.describe()["weights"] == ["bfloat16"]
    assert full.describe()["weights"] == ["float32"]
    assert half.predict(ROWS) == full.predict(ROWS)


def test_a_module_that_works_in_place_leaves_the_samples_alone(torch, tmp_path):
    module = torch.nn.ReLU(inplace=True)
    rows = -ROWS
    assert TorchModule(module).load(tmp_path).predict(rows).max() == 0
    assert np.array_equal(rows, -ROWS)


def test_answers_carry_no_gradient(torch, linear, tmp_path):
    seen = []
    TorchModule(linear, decode=lambda y: seen.append(y.requires_grad) or list(y)).load(tmp_path).predict(ROWS)
    assert seen == [False]


def test_dropout_is_off(torch, tmp_path):
    loaded = TorchModule(torch.nn.Dropout(0.9)).load(tmp_path)
    assert np.array_equal(loaded.predict(ROWS), ROWS)


def test_threads_are_given_back_when_closed(torch, linear, tmp_path):
    before = torch.get_num_threads()
    loaded = TorchModule(linear, threads=before + 1).load(tmp_path)
    assert torch.get_num_threads() == before + 1
    loaded.close()
    assert torch.get_num_threads() == before


def test_an_output_that_is_no_tensor_needs_a_decoder(torch, tmp_path):
    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(TypeError, match="the module gave a tuple"):
        TorchModule(Pair()).load(tmp_path).predict(ROWS)
    assert len(TorchModule(Pair(), decode=lambda pair: pair[0].tolist()).load(tmp_path).predict(ROWS)) == 3


@pytest.fixture
def script(torch, linear, tmp_path):
    """A TorchScript program that gives back its rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(linear.eval(), torch.zeros(1, 3)), str(tmp_path / "model.ts"))
    return tmp_path


def test_a_torchscript_program_answers_and_is_disclosed(script):
    loaded = TorchModule("model.ts", decode="argmax").load(script)
    assert list(loaded.predict(ROWS)) == [2, 0, 1]
    told = loaded.describe()
    assert (told["mode"], told["files"][0]["file"], told["notes"]) == ("TorchScript", "model.ts", [])
    assert told["observed"]["precision"] == {"fp32": 1.0}


def test_a_file_that_is_not_the_one_declared_is_refused(script):
    digest = TorchModule("model.ts").load(script).describe()["files"][0]["sha256"]
    assert TorchModule("model.ts", sha256=digest).load(script)
    refuses(TorchModule("model.ts", sha256="0" * 64), script, "`model.ts` has SHA-256", "another file")


def test_what_is_no_program_is_told(torch, tmp_path):
    (tmp_path / "model.ts").write_bytes(b"hello, this is no program")
    refuses(TorchModule("model.ts"), tmp_path, "`model.ts` is no TorchScript program")
    refuses(TorchModule("missing.ts"), tmp_path, "there is no file `missing.ts`")


def test_a_program_that_holds_pickled_code_is_refused_and_not_run(torch, tmp_path):
    mark = tmp_path / "ran"
    torch.save({"weight": Poison(mark)}, tmp_path / "model.ts")
    refuses(TorchModule("model.ts"), tmp_path, "`model.ts`")
    assert not mark.exists()


def test_an_exported_program_takes_trust_and_the_report_says_so(torch, linear, tmp_path):
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(linear.eval(), (torch.zeros(4, 3),), dynamic_shapes=({0: rows},))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(exported, tmp_path / "model.pt2")
    refuses(TorchModule("model.pt2"), tmp_path, "`model.pt2` is an exported program", "trust_pickle=True")
    loaded = TorchModule("model.pt2", trust_pickle=True, decode="argmax").load(tmp_path)
    assert list(loaded.predict(ROWS)) == [2, 0, 1]
    assert loaded.describe()["mode"] == "torch.export"
    assert "trust_pickle=True" in loaded.describe()["notes"][0]


def test_trusted_files_run_their_code_and_the_report_says_so(torch, linear, tmp_path):
    torch.save(linear, tmp_path / "whole.pt")
    make = lambda: torch.nn.Linear(3, 3)  # noqa: E731 - a factory as a conftest writes it
    refuses(TorchModule(make, state="whole.pt"), tmp_path, "would run", "which is refused")
    loaded = TorchModule(make, state="whole.pt", trust_pickle=True).load(tmp_path)
    assert np.array_equal(loaded.predict(ROWS), ROWS)
    assert loaded.describe()["notes"]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch on its own compiler
def test_a_compiled_module_answers_as_the_eager_one(torch, linear, tmp_path):
    loaded = TorchModule(linear, compile=True, decode="argmax").load(tmp_path)
    assert loaded.describe()["mode"] == "eager, torch.compile"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(loaded.predict(ROWS)) == [2, 0, 1]
    loaded.close()


def test_autocast_computes_in_its_type_and_leaves_the_weights(torch, linear, tmp_path):
    seen = []
    loaded = TorchModule(
        linear, autocast="bfloat16", decode=lambda y: seen.append(str(y.dtype)) or y.tolist()
    ).load(tmp_path)
    loaded.predict(ROWS)
    assert seen == ["torch.bfloat16"]
    assert loaded.describe()["weights"] == ["float32"]
    assert loaded.describe()["observed"]["precision"] == {"fp32": 1.0, "bf16": 1.0}
    refuses(TorchModule(linear, autocast="int8"), tmp_path, "autocast='int8'")


def test_pictures_are_laid_out_as_declared(torch, tmp_path):
    seen = []

    class Look(torch.nn.Module):
        def forward(self, x):
            seen.append(x.is_contiguous(memory_format=torch.channels_last))
            return x.flatten(1)

    pictures = np.ones((2, 3, 4, 5), dtype=np.float32)
    TorchModule(Look(), channels_last=True).load(tmp_path).predict(pictures)
    TorchModule(Look()).load(tmp_path).predict(pictures)
    assert seen == [True, False]


def test_the_best_few_are_labels_too(torch, tmp_path):
    loaded = TorchModule(torch.nn.Identity(), decode="top-2").load(tmp_path)
    assert loaded.predict(ROWS) == [[2, 1], [0, 1], [1, 2]]


def test_the_environment_tells_how_torch_was_built(torch):
    told = environment()["runtimes"]["torch"]
    assert told["version"] == torch.__version__
    assert told["cuda"] == torch.version.cuda  # None in a build for processors
    assert json.loads(json.dumps(told)) == told


def test_compiling_for_the_processor_without_a_compiler_is_told_when_loaded(linear, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    refuses(TorchModule(linear, compile=True), tmp_path, "needs a C++ compiler", "no-such-compiler")
    assert TorchModule(linear).load(tmp_path)


def test_threads_and_digest_are_observed_beside_what_was_declared(torch, linear, tmp_path):
    torch.save(linear.state_dict(), tmp_path / "state.pt")
    loaded = TorchModule(lambda: torch.nn.Linear(3, 3), state="state.pt", threads=1).load(tmp_path)
    told = loaded.describe()
    loaded.close()
    assert told["declared"] == {"threads": 1, "sha256": None}
    assert told["observed"]["threads"] == 1
    assert told["observed"]["sha256"] == told["files"][0]["sha256"]
    assert (told["tf32"], told["notes"]) == ([], [])


@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "uint8", "bool"])
def test_samples_are_copied_into_pinned_memory_as_they_are(torch, linear, tmp_path, kind, monkeypatch):
    # Pinning takes a GPU; what is copied, and as what, does not.
    made = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, pin_memory, dtype: made(*size, dtype=dtype))
    samples = np.arange(6).reshape(2, 3).astype(kind)
    samples.flags.writeable = False
    tensor = TorchModule(linear).load(tmp_path)._pinned(samples)
    assert str(tensor.dtype) == f"torch.{kind}"
    assert np.array_equal(tensor.numpy(), samples)
    tensor[0, 0] = 1  # the samples are left alone
    assert samples[0, 0] == 0


# What a GPU does, played on the processor: `tests/gpu` has the same on a real one


@pytest.fixture
def late(torch, monkeypatch):
    """A device whose work is done when it is waited for, and the work it has been given."""
    work = []

    def synchronize(device):
        assert device == torch.device("cuda:0")
        while work:
            work.pop()()

    monkeypatch.setattr(torch.accelerator, "synchronize", synchronize)
    return work


def on_gpu(torch, loaded):
    """Let a loaded module think that it is on a GPU."""
    loaded._device = torch.device("cuda:0")
    loaded._tensor = torch.tensor
    return loaded


@pytest.mark.parametrize(
    ("decode", "expected"),
    [
        (None, ROWS.tolist()),
        ("argmax", [2, 0, 1]),
        ("top-2", [[2, 1], [0, 1], [1, 2]]),
        (list, ROWS.tolist()),
    ],
)
def test_answers_are_read_when_all_of_the_device_has_finished(torch, tmp_path, late, decode, expected):
    class Aside(torch.nn.Module):
        def forward(self, x):
            done = torch.zeros_like(x)
            late.append(lambda: done.copy_(x))
            return done

    function = (lambda y: y.tolist()) if decode is list else decode
    loaded = on_gpu(torch, TorchModule(Aside(), decode=function).load(tmp_path))
    assert np.asarray(loaded.predict(ROWS)).tolist() == expected
    assert late == []


def test_what_a_decoder_began_is_waited_for_too(torch, linear, tmp_path, late):
    def decode(scores):
        done = np.zeros(len(scores))
        late.append(lambda: done.fill(7))
        return done

    loaded = on_gpu(torch, TorchModule(linear, decode=decode).load(tmp_path))
    assert loaded.predict(ROWS).tolist() == [7, 7, 7]


CONVOLUTIONS, RECURRENT, PRODUCTS = "convolutions", "recurrent layers", "matrix products"


def test_tf32_is_told_as_torch_comes(torch, linear, tmp_path):
    told = on_gpu(torch, TorchModule(linear).load(tmp_path)).describe()
    assert told["tf32"] == [CONVOLUTIONS, RECURRENT]
    assert told["notes"] == [
        "its fp32 convolutions, recurrent layers may be computed in TF32, as torch is set"
    ]


@pytest.mark.parametrize(
    ("setting", "coarse"),
    [
        ("torch.backends.fp32_precision = 'tf32'", [CONVOLUTIONS, RECURRENT, PRODUCTS]),
        ("torch.backends.cudnn.conv.fp32_precision = 'ieee'", [RECURRENT]),
    ],
)
def test_tf32_is_told_where_it_is_set_by_operator(torch, setting, coarse):
    if not hasattr(torch.backends.cudnn, "conv"):
        pytest.skip("this torch has the older settings only")
    # In a process of its own: torch does not forget that a setting was made.
    code = (
        "import json, pathlib, torch\n"
        "from pytest_procure.backends import TorchModule\n"
        f"{setting}\n"
        "loaded = TorchModule(torch.nn.Linear(3, 3)).load(pathlib.Path())\n"
        "loaded._device = torch.device('cuda:0')\n"
        "print(json.dumps(loaded.describe()['tf32']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == coarse


@pytest.mark.parametrize(
    ("settings", "coarse"),
    [
        ((True, "highest"), [CONVOLUTIONS, RECURRENT]),
        ((False, "high"), [PRODUCTS]),
        ((False, "highest"), []),
    ],
)
def test_tf32_is_told_by_the_settings_of_an_older_torch(torch, linear, tmp_path, settings, coarse):
    allowed, products = settings
    loaded = on_gpu(torch, TorchModule(linear).load(tmp_path))
    backends = SimpleNamespace(
        cudnn=SimpleNamespace(allow_tf32=allowed), cuda=SimpleNamespace(matmul=SimpleNamespace())
    )
    loaded._torch = SimpleNamespace(backends=backends, get_float32_matmul_precision=lambda: products)
    assert loaded._tf32() == coarse


def compiles_on_gpu(torch, declared):
    declared._check_compiler(torch, torch.device("cuda:0"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Triton brings a compiler")
@pytest.mark.parametrize("named", [None, "no-such-compiler"])
def test_compiling_for_a_gpu_without_a_c_compiler_is_told(torch, linear, monkeypatch, named):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    if named:
        monkeypatch.setenv("CC", named)
    with pytest.raises(ProvisionError, match="needs a C compiler on CUDA") as refusal:
        compiles_on_gpu(torch, TorchModule(linear, compile=True))
    assert f"there is no {'`no-such-compiler`' if named else '`gcc` or `clang`'};" in str(refusal.value)
    compiles_on_gpu(torch, TorchModule(linear))


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_modes_that_fail_in_a_second_thread_are_refused_in_an_older_torch(torch, linear, monkeypatch, mode):
    monkeypatch.setenv("CC", sys.executable)  # a program that is there
    monkeypatch.setattr(torch, "__version__", type(torch.__version__)("2.12.1+cu130"))
    with pytest.raises(ProvisionError, match=r"torch 2\.12\.1\+cu130; expected torch 2\.13 or later"):
        compiles_on_gpu(torch, TorchModule(linear, compile=mode))
    compiles_on_gpu(torch, TorchModule(linear, compile=True))
    monkeypatch.setattr(torch, "__version__", type(torch.__version__)("2.13.0"))
    compiles_on_gpu(torch, TorchModule(linear, compile=mode))


def test_memory_is_given_back_even_where_the_compiler_cannot_be_reset(torch, linear, tmp_path, monkeypatch):
    def reset():
        raise AssertionError("no trees in this thread")

    given = []
    loaded = on_gpu(torch, TorchModule(linear, compile=True).load(tmp_path))
    monkeypatch.setattr(torch.compiler, "reset", reset)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given.append("back"))
    with pytest.raises(AssertionError, match="no trees"):
        loaded.close()
    assert given == ["back"]


@pytest.fixture
def constant(torch):
    """A module with a tensor that is no buffer, and one that it makes where it was exported."""

    class Constant(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)
            self.plain = torch.ones(3)

        def forward(self, x):
            return self.layer(x) + self.plain + torch.arange(3, device=x.device)

    return Constant().eval()


def test_an_exported_program_goes_to_its_device_whole(torch, constant, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(constant, (torch.zeros(3, 3),)), tmp_path / "model.pt2")
    # "meta" has shapes and no numbers, and like a GPU it does not compute with what lies on the processor.
    device = torch.device("meta")
    moved = program(torch, tmp_path / "model.pt2", "model.pt2", device, trusted=True)
    assert moved(torch.zeros(3, 3, device=device)).device == device
    loaded = TorchModule("model.pt2", trust_pickle=True).load(tmp_path)
    assert np.allclose(loaded.predict(ROWS), constant(torch.tensor(ROWS)).detach())


def test_a_torchscript_program_goes_to_its_device_with_its_constants(torch, constant, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(constant, torch.zeros(3, 3)), str(tmp_path / "model.ts"))
    moved = program(torch, tmp_path / "model.ts", "model.ts", torch.device("meta"), trusted=False)
    constants = moved.code_with_constants[1].const_mapping
    assert {str(one.device) for one in constants.values()} == {"meta"}


@pytest.mark.parametrize("name", ["model.ts", "model.pt2"])
def test_a_program_that_the_device_has_no_room_for_is_told_so(torch, tmp_path, name, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.")

    (tmp_path / name).write_bytes(b"a program")
    monkeypatch.setattr(torch.jit, "load", full)
    monkeypatch.setattr(torch.export, "load", full)
    declared = TorchModule(name, trust_pickle=True)
    refuses(declared, tmp_path, f"`{name}` cannot be put on cpu: CUDA out of memory")
