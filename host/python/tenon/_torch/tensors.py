"""Tensors and their dtypes, from torch and to torch."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import _core


def dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def torch_dtype(name: str) -> torch.dtype:
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found


def to_tenon(tensor: Tensor | None) -> _core.Tensor | None:
    """Converts a kernel's tensor, which has no pending conjugation."""
    if tensor is None:
        return None
    found = _core.from_exchange(tensor)
    return _core.tensor_from(tensor.detach()) if found is None else found


def to_torch(tensor: _core.Tensor | None) -> Tensor:
    assert tensor is not None  # only inputs may be missing
    dense = tensor.to_dense() if tensor.storage != "dense" else tensor
    made: Tensor | None = _core.to_exchange(dense, Tensor)
    if made is None:
        made = torch.utils.dlpack.from_dlpack(dense)
    if made.is_cuda:  # a copy in torch's memory, which its streams may use when the tensor is gone
        made = made.clone()
        torch.cuda.current_stream(made.device).synchronize()
    return made
