"""The tensors that a PyTorch module computes with, wherever it keeps them: not its parameters alone.

Quantised layers keep weights in buffers, plain attributes or packed objects; programs also in their graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def weights_of(torch: Any, module: Any) -> list[Any]:
    """List a module's tensors, each once: of a program those that its graph reads, else all that it holds.

    A tensor that is made of others (packed, with scales) counts as these.
    """
    found: dict[int, Any] = {}
    seen: dict[int, Any] = {}  # kept, so that no other takes its id
    todo = [module]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, torch.Tensor):
            inner = _parts(one)
            todo += inner
            if not inner:
                found[id(one)] = one
        else:
            todo += _held(torch, one)
    return list(found.values())


def _parts(tensor: Any) -> list[Any]:
    """The tensors that one of a class of its own wraps, by torch's protocol; none of others."""
    if not hasattr(tensor, "__tensor_flatten__"):
        return []
    names, _ = tensor.__tensor_flatten__()
    return [getattr(tensor, name) for name in names]


def _held(torch: Any, one: Any) -> list[Any]:
    """What an object holds, as far as it may hold tensors."""
    if isinstance(one, torch.jit.ScriptModule):
        return list(_of_program(torch, one))
    if isinstance(one, torch.nn.Module):
        return list(vars(one).values())
    if isinstance(one, torch.ScriptObject):
        stateful = one._has_method("__getstate__")  # noqa: SLF001 - how torch itself asks
        return [one.__getstate__()] if stateful else []
    if isinstance(one, Mapping):
        return list(one.values())
    return list(one) if isinstance(one, list | tuple) else []


def _of_program(torch: Any, program: Any) -> Iterator[Any]:
    """What the graph of a TorchScript program reads: attributes, followed from the program, and constants."""
    try:
        graph = program.inlined_graph
    except (AttributeError, RuntimeError):  # a part that is never called by its name `forward`
        yield from [*program.parameters(), *program.buffers()]
        return
    values = {next(iter(graph.inputs())).debugName(): program}
    read: dict[tuple[int, str], Any] = {}  # torch gives another object each time that it is asked
    for node in graph.findAllNodes("prim::GetAttr"):
        owner = values.get(node.input().debugName())
        if owner is not None:
            key = id(owner), node.s("name")
            read.setdefault(key, getattr(owner, key[1], None))
            values[node.output().debugName()] = read[key]
    yield from (each for each in read.values() if not isinstance(each, torch.nn.Module))
    for node in graph.findAllNodes("prim::Constant"):
        if node.hasAttribute("value") and node.kindOf("value") in {"t", "ts", "ival"}:
            yield getattr(node, node.kindOf("value"))("value")
