// The kernels of elementwise operators, the same code for every class: they select the tensors of a
// job.
#pragma once

#include <cstdint>
#include <cstring>

#include "../call.hpp"
#include "../version.hpp"
#include "job.hpp"
#include "loops.hpp"
#include "map.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Returns the write mode of output i in forward, or of input gradient i in backward.
inline Write write_of(const Call& call, int i) {
  return static_cast<Write>(call.raw().writes[i]);
}

/// Computes the gradient of an input whose shape differs from the output's.
using Sum = void (*)(const Call& call, const Job& job, const tenon_dense& broadcast);

/// The type-erased view of a class in the generic code.
struct Kernel {
  const void* op;
  const Loops* loops;
  Convert convert;
  Sum sum;
  Rule rule;
  int by = -1;  ///< the input whose derivative the class represents; -1: it represents its function
};

/// Turns the job of a kernel into that of its derivative.
[[gnu::cold, gnu::noinline]] inline void differentiate(const Kernel& kernel, Job& job,
                                                       Partial& partial, int then) {
  const bool fits =
      kernel.loops->partial && kernel.by < max_inputs && kernel.loops->derivatives[kernel.by];
  if (!fits)
    fail(ErrorKind::type, {kernel.loops->compute, " has no derivative by input ", kernel.by});
  partial = {kernel.op, kernel.by, then};
  job.op = &partial, job.loop = kernel.loops->partial;
}

inline Job forward_job(const Kernel& kernel, tenon_tensor* output, Write write) {
  const Loops& loops = *kernel.loops;
  return {kernel.op,      loops.forward, loops.accumulate_result,
          kernel.convert, loops.compute, loops.result,
          output,         write};
}

inline void forward(const Call& call, const Kernel& kernel) {
  const tenon_call& raw = call.raw();
  if (write_of(call, 0) == Write::none) return;
  Job job = forward_job(kernel, raw.outputs[0], write_of(call, 0));
  Partial partial;
  if (kernel.by >= 0) differentiate(kernel, job, partial, -1);
  for (std::uint32_t i = 0; i < raw.input_count; ++i) job.read(raw.inputs[i]);
  map(call, job);
}

inline bool same_shape(const tenon_dense& left, const tenon_dense& right) {
  if (left.ndim != right.ndim) return false;
  for (int axis = 0; axis < left.ndim; ++axis)
    if (left.shape[axis] != right.shape[axis]) return false;
  return true;
}

/// For operators with one input, which always has the output's shape.
[[gnu::cold]] inline void no_sum(const Call&, const Job& job, const tenon_dense& broadcast) {
  fail(ErrorKind::type,
       {"the gradient of the input is ", Shape(job.output->dense.shape, job.output->dense.ndim),
        " but the gradient of the output is ", Shape(broadcast.shape, broadcast.ndim)});
}

/// Computes the gradient of one input; the output's gradient must exist.
inline void input_gradient(const Call& call, const Kernel& kernel, int input) {
  const tenon_call& raw = call.raw();
  const Loops& loops = *kernel.loops;
  const tenon_tensor& dy = *raw.output_grads[0];
  if (!loops.derivatives[input]) fail(ErrorKind::type, {loops.compute, " has no gradient"});
  Job job{kernel.op,
          loops.derivatives[input],
          loops.accumulate_gradient,
          kernel.convert,
          loops.compute,
          loops.compute,
          raw.input_grads[input],
          write_of(call, input)};
  Partial partial;
  if (kernel.by >= 0) differentiate(kernel, job, partial, input);
  if (kernel.rule == Rule::output) job.read(raw.outputs[0]);
  if (kernel.rule == Rule::inputs || kernel.rule == Rule::dual)
    for (std::uint32_t i = 0; i < raw.input_count; ++i) job.read(raw.inputs[i]);
  job.read(&dy);
  if (same_shape(job.output->dense, dy.dense)) return map(call, job);
  kernel.sum(call, job, dy.dense);
}

template <class T>
void fill_with_zero(const void*, const void* const*, void* out, std::int64_t n) {
  std::memset(out, 0, static_cast<std::size_t>(n) * sizeof(T));
}

/// If the output's gradient is zero everywhere, so is the input's.
[[gnu::cold]] inline void zero_gradient(const Call& call, int input) {
  const Write write = write_of(call, input);
  if (write == Write::none || write == Write::add) return;
  tenon_tensor* dx = call.raw().input_grads[input];
  const auto dtype = static_cast<DType>(dx->dtype);
  map(call, Job{nullptr, dtype == DType::f64 ? fill_with_zero<double> : fill_with_zero<float>,
                nullptr, convert_half, dtype == DType::f64 ? dtype : DType::f32,
                dtype == DType::f64 ? dtype : DType::f32, dx, Write::to});
}

/// Computes all requested gradients; the output's must exist. One that uses its memory comes last,
/// because the others still read it.
inline void backward(const Call& call, const Kernel& kernel) {
  for (const bool in_place : {false, true})
    for (int i = 0; i < call.inputs(); ++i) {
      const Write write = write_of(call, i);
      if (write != Write::none && (write == Write::in_place) == in_place)
        input_gradient(call, kernel, i);
    }
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
