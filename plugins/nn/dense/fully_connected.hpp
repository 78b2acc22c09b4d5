// A dense layer, for all devices.
#pragma once
#include <tenon/operator.hpp>

#include "dense_layer.hpp"

struct FullyConnectedShapes : DenseLayer<tenon::Operator> {
  static constexpr void describe(auto& op) {
    op.doc("fully connected layer: output = data @ weight^T + bias (torch.nn.Linear)");
    op.types({tenon::f32, tenon::f64});
    describe_tensors(op);
    op.linear("data", "weight");
    op.linear("bias");
    describe_parameters(op);
    op.backward_reads("data", "weight");
    op.accumulates();
    op.rule("quantized",
            "fully_connected(&dequantize(x, xs!, xz!?; axis=$x_axis), &dequantize(w!, ws!, wz!?; "
            "axis=$axis), b?; ...)",
            "quantized_matmul(x, w, a_scale=xs, a_zero_point=xz, b_scale=ws, b_zero_point=wz, "
            "bias=b; transpose_b=true, b_axis=$axis)");
    op.example({{"data", {2, 3}}, {"weight", {4, 3}}, {"bias", {4}}}, {{"num_hidden", 4}});
  }

  double backward_flops(const tenon::Infer& io) const { return 2 * flops(io); }
};
