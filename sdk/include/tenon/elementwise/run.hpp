// The kernels of elementwise operators, the same code for every class: which tensors a job reads and writes.
#pragma once

#include <cstdint>
#include <cstring>

#include "../call.hpp"
#include "job.hpp"
#include "loops.hpp"
#include "map.hpp"
#include "sum.hpp"

namespace tenon {
namespace [[gnu::visibility("hidden")]] elementwise {

/// A class as the generic code sees it.
struct Kernel {
  const void* op;
  const Loops* loops;
  Convert convert;
  Rule rule;
};

inline void forward(const Call& call, const Kernel& kernel) {
  const tenon_call& raw = call.raw();
  if (call.write(0) == Write::none) return;
  Job job{kernel.op,      kernel.loops->forward, kernel.loops->accumulate_result,
          kernel.convert, kernel.loops->compute, kernel.loops->result,
          raw.outputs[0], call.write(0)};
  for (std::uint32_t i = 0; i < raw.input_count; ++i) job.read(raw.inputs[i]);
  map(call, job);
}

inline bool same_shape(const tenon_dense& left, const tenon_dense& right) {
  return left.ndim == right.ndim && std::equal(left.shape, left.shape + left.ndim, right.shape);
}

/// The gradient of one input; dy, the output's gradient, is there.
inline void input_gradient(const Call& call, const Kernel& kernel, int input) {
  const tenon_call& raw = call.raw();
  const Loops& loops = *kernel.loops;
  const tenon_tensor& dy = *raw.output_grads[0];
  if (!loops.derivatives[input]) fail(ErrorKind::type, {loops.compute, " has no gradient"});
  Job job{kernel.op,     loops.derivatives[input], loops.accumulate_gradient, kernel.convert, loops.compute,
          loops.compute, raw.input_grads[input],   call.write(input)};
  if (kernel.rule == Rule::output) job.read(raw.outputs[0]);
  if (kernel.rule == Rule::inputs || kernel.rule == Rule::dual)
    for (std::uint32_t i = 0; i < raw.input_count; ++i) job.read(raw.inputs[i]);
  job.read(&dy);
  if (same_shape(job.output->dense, dy.dense)) return map(call, job);
  BroadcastSum(job, dy.dense).run(call);
}

template <class T>
void fill_with_zero(const void*, const void* const*, void* out, std::int64_t n) {
  std::memset(out, 0, static_cast<std::size_t>(n) * sizeof(T));
}

/// Where the output's gradient is zero everywhere, the input's is too.
inline void zero_gradient(const Call& call, int input) {
  const Write write = call.write(input);
  if (write == Write::none || write == Write::add) return;
  tenon_tensor* dx = call.raw().input_grads[input];
  const auto dtype = static_cast<DType>(dx->dtype);
  map(call, Job{nullptr, dtype == DType::f64 ? fill_with_zero<double> : fill_with_zero<float>, nullptr, convert_half,
                dtype == DType::f64 ? dtype : DType::f32, dtype == DType::f64 ? dtype : DType::f32, dx, Write::to});
}

/// All gradients that are wanted; the output's is there. One that takes its memory comes last, for the others still read that.
inline void backward(const Call& call, const Kernel& kernel) {
  for (const bool in_place : {false, true})
    for (int i = 0; i < call.inputs(); ++i) {
      const Write write = call.write(i);
      if (write != Write::none && (write == Write::in_place) == in_place) input_gradient(call, kernel, i);
    }
}

}  // namespace gnu::visibility("hidden")]]elementwise
}  // namespace tenon
