"""The arguments of a call by torch."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


class Call(NamedTuple):
    """The arguments of a call, sorted."""

    inputs: tuple[Tensor | None, ...]
    states: tuple[Tensor | None, ...]
    params: dict[str, Any]
    training: bool

    @property
    def device(self) -> torch.device:
        return next(
            (tensor.device for tensor in self.inputs if tensor is not None), torch.device("cpu")
        )

    @property
    def attributes(self) -> dict[str, Any]:
        """The parameters, with arrays instead of torch's tensors."""
        return {
            name: value.detach().cpu().numpy() if isinstance(value, Tensor) else value
            for name, value in self.params.items()
        }
