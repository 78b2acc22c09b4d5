"""Operators in Python used by several tests."""

from __future__ import annotations

import numpy as np
import tenon

X = np.linspace(-2, 3, 12).reshape(3, 4)


def cosine():
    @tenon.operator
    class Cosine:
        scale: float = 1.0

        def describe(op):
            op.doc("scale * cos(x), element by element")
            op.input("x", "angles in radians")
            op.output("y", "same shape as x")
            op.param("scale", "multiplier").greater_than(0)

        def forward(self, call):
            np.multiply(np.cos(call.x), self.scale, out=call.y)

        def backward(self, call):
            call.x_grad[...] = -self.scale * np.sin(call.x) * call.y_grad

    return Cosine
