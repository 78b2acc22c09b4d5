"""Operators as torch operators, `torch.ops.tenon.NAME`, and graphs as torch.nn.Module.

Must be imported explicitly: `import tenon.torch`. Tenon itself never imports torch.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from . import _core
from ._authoring.compile import Compiled
from ._define.decorator import _decorated
from ._errors import PluginError, UsageError
from ._operators.manifest import info_of
from ._operators.namespaces import find
from ._torch.module import GraphModule, module
from ._torch.operator import RegisteredOperator
from ._torch.schema import has_training, variants_of

__all__ = ["GraphModule", "module", "register"]
GraphModule.__module__ = module.__module__ = __name__  # for tracebacks and pickles

_libraries: dict[str, torch.library.Library] = {}
_registered: dict[tuple[str, str], tuple[RegisteredOperator, dict[str, str]]] = {}


def register(what: Any, *, namespace: str = "tenon", host: _core.Host | None = None) -> Any:
    """Makes an operator a torch operator: `torch.ops.tenon.NAME`, with schema, shapes for tracing,
    and its gradient.

    what: the name of an operator, an operator, or a class decorated with @tenon.operator; or the
        path of a plugin or of a folder of plugins, or the result of tenon.compile, whose operators
        are all registered.
    namespace: `torch.ops.NAMESPACE`.

    Returns the torch operator; for several, a dict of them by name.

    Tensors are dense, on the CPU or CUDA. Inputs are passed by position, parameters by name.
    Operators with states take them after their inputs and return them, changed in training, after
    their outputs. Works in torch.compile; second derivatives are rejected. Raises UsageError if
    another operator of that name is registered, PluginError if the operator does not exist.
    """
    if (
        isinstance(what, os.PathLike)
        or isinstance(what, str)
        and (os.sep in what or what.endswith(".so"))
    ):
        return _register_plugins(Path(what), namespace, host)
    if isinstance(what, Compiled):
        return {
            name: _register(op, namespace, op._host or host) for name, op in what._functions.items()
        }
    if isinstance(what, type):
        what = _name_of_class(what)
    if not isinstance(what, str | _core.Operator):
        raise TypeError(
            "register() takes the name of an operator, an operator, or the path of a plugin, not "
            f"{type(what).__name__}"
        )
    op = find(what, host) if isinstance(what, str) else what
    return _register(op, namespace, op._host or host)


def _name_of_class(cls: type) -> str:
    found = next((name for name, reference in _decorated.items() if reference() is cls), None)
    if found is None:
        raise TypeError(f"register() takes a class with @tenon.operator, not {cls!r}")
    return found


def _register_plugins(path: Path, namespace: str, host: _core.Host | None) -> dict[str, Any]:
    resolved_host = host or _core.default_host()
    resolved_host.add_plugins(os.fspath(path))
    whole = path.resolve()
    described = (resolved_host.describe(name) for name in resolved_host.names())
    found = [
        each["shortest_name"]
        for each in described
        if each["path"]
        and whole in (Path(each["path"]).resolve(), Path(each["path"]).resolve().parent)
    ]
    if not found:
        raise PluginError(f"'{path}' has no operators", "host.files() lists each plugin's error")
    return {name: _register(find(name, host), namespace, host) for name in found}


def _register(op: _core.Operator, namespace: str, host: _core.Host | None) -> Any:
    info = info_of(op)
    name = _core.python_name(info.name)
    for suffix, fixed in variants_of(info).items():
        _register_as(name + suffix, RegisteredOperator(host, info, fixed), namespace, host)
    return _register_as(name, RegisteredOperator(host, info), namespace, host)


def _register_as(
    name: str, made: RegisteredOperator, namespace: str, host: _core.Host | None
) -> Any:
    schemas = made.schemas(name)
    known = _registered.get((namespace, name))
    if known is None:
        _define(made, name, namespace, schemas)
        _registered[namespace, name] = made, schemas
    elif known[1] != schemas or known[0].name != made.name or known[0]._host is not host:
        raise UsageError(
            f"torch.ops.{namespace}.{name} is already another operator: {known[1][name]} of "
            f"{known[0].name}",
            "choose another namespace: register(..., namespace=...)",
        )
    return getattr(getattr(torch.ops, namespace), name)


def _define(op: RegisteredOperator, name: str, namespace: str, schemas: dict[str, str]) -> None:
    library = _libraries.setdefault(namespace, torch.library.Library(namespace, "FRAGMENT"))
    for each, schema in schemas.items():
        draws = op.info.raw["random"] and each != name + "_backward"  # which draws nothing new
        library.define(
            schema,
            tags=[torch.Tag.pt2_compliant_tag]
            + ([torch.Tag.nondeterministic_seeded] if draws else []),
        )
    space = getattr(torch.ops, namespace)
    op.overload = getattr(space, name).default
    op.overload_with_hidden = (
        getattr(space, name + "_forward").default if name + "_forward" in schemas else op.overload
    )
    op.overload_of_backward = getattr(space, name + "_backward").default

    keys = (
        torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        .add(torch._C.DispatchKey.AutogradCPU)
        .raw_repr()
    )
    counted = any(output.count for output in op.info.outputs)
    plain, keyed = _core.exchange_calls(
        op._host,
        op.name,
        torch.Tensor,
        other=op.kernel,
        differentiable=op.differentiable,
        grad_enabled=torch.is_grad_enabled,
        counted=counted,
        tensors=len(op.info.inputs),
        placed=op.positional,
        plain_keys=keys,
    )
    if plain is None or has_training(op.info) or not op.info.inputs or op.conditional:
        plain, keyed = op.kernel, None
    if op.info.inputs:
        library.impl(name, plain, "CPU")
        library.impl(name, op.kernel, "CUDA")
        library.impl(name, op.differentiable, "Autograd")
        if keyed is not None:
            library.impl(name, keyed, "AutogradCPU", with_keyset=True)
    else:
        library.impl(name, op.kernel, "CompositeExplicitAutograd")
    library._register_fake(name, op.fake)
    if name + "_forward" in schemas:
        for key in ("CPU", "CUDA"):
            library.impl(name + "_forward", op.kernel_with_hidden, key)
        library._register_fake(name + "_forward", op.fake_with_hidden)
    for key in ("CPU", "CUDA"):
        library.impl(name + "_backward", op.backward, key)
    library.impl(name + "_backward", op.refuse_second_gradient, "Autograd")
    library._register_fake(name + "_backward", op.fake_backward)
