// CUDA kernels of elementwise operators, from the same source as the CPU's. Included only in
// sources compiled for CUDA.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../detail/registration.hpp"
#include "../../gpu/launch.hpp"
#include "../../version.hpp"
#include "../completed.hpp"
#include "device_flat.hpp"
#include "device_map.hpp"
#include "device_sum.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Body for few results with many terms: one block per result. The order of the additions is fixed,
/// and so are the bits.
template <class Function, class Stored, class Class>
struct BlockSumBody {
  [[no_unique_address]] Class f;  // often empty: no undefined padding ahead of the other members
  DeviceSum sum;

  TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t i) const {
    const double total =
        block.sum(sum_terms<Function, Stored>(f, sum, i, block.thread(), gpu::block_threads));
    if (block.thread() == 0) store_sum<Function, Stored>(sum, i, total);
  }
};

template <class Class>
void check_launch_arguments() {
  static_assert(std::is_trivially_copyable_v<Class>,
                "an elementwise class must be trivially copyable to run on CUDA");
  static_assert(
      sizeof(Class) + sizeof(DeviceSum) <= gpu::launch_bytes,
      "the parameters of an elementwise class must fit into a CUDA launch: at most 2 KiB");
}

template <class Function, class Stored, class Class>
void launch_map(const Call& call, const Class& f, const Job& job) {
  check_launch_arguments<Class>();
  const DeviceMap map = device_map(job);
  if constexpr (packable<Function, Class>) {
    if (const auto flat = device_flat(
            map, dtype_of<Stored>, dtype_of<Written<Function, Stored, Class>>, Function::flags)) {
      const FlatBody<Function, Stored, Class> body{f, *flat};
      return gpu::for_each(call, body.pieces(), body);
    }
  }
  gpu::for_each(call, map.space.count(), MapBody<Function, Stored, Class>{f, map});
}

template <class Function, class Stored, class Class>
void launch_sum(const Call& call, const Class& f, const Job& job, const tenon_dense& broadcast) {
  check_launch_arguments<Class>();
  const DeviceSum sum = device_sum(job, broadcast);
  const std::int64_t results = sum.results.space.count();
  if (sum.terms.count() <= 64 || results >= 1 << 14)
    gpu::for_each(call, results, SumBody<Function, Stored, Class>{f, sum});
  else
    gpu::for_each_block(call, results, BlockSumBody<Function, Stored, Class>{f, sum});
}

/// Adds forward on CUDA. It only enqueues work.
template <class Class>
struct CudaForward : Class {
  static constexpr bool capturable = true;

  /// Complex numbers run on the CPU only.
  bool supports(const Infer& types) const {
    return !any_complex.has(types.input(first_shared<Class>).dtype);
  }
  void forward(const Call& call) const {
    const tenon_call& raw = call.raw();
    if (write_of(call, 0) == Write::none) return;
    run_forward(call, static_cast<DType>(raw.inputs[first_shared<Class>]->dtype), raw.outputs[0],
                write_of(call, 0), raw.inputs, static_cast<int>(raw.input_count));
  }

 protected:
  void run_forward(const Call& call, DType shared, tenon_tensor* output, Write write,
                   const tenon_tensor* const* inputs, int count) const {
    visit<real_types<Class>()>(shared, [&]<class Stored>() {
      Job job{};
      job.output = output;
      job.write = write;
      for (int i = 0; i < count; ++i) job.read(inputs[i]);
      launch_map<ForwardAt<Class, Computed<Stored>>, Stored>(call, static_cast<const Class&>(*this),
                                                             job);
    });
  }
};

/// Adds the sparse kernel: the stored values change, their indices are copied.
template <class Class>
struct CudaSparse : CudaForward<Class> {
  void infer_storage(InferStorage& io) const {
    elementwise::infer_storage(static_cast<const Class&>(*this), io);
  }
  void forward_sparse(const Call& call) const {
    const tenon_call& raw = call.raw();
    if (write_of(call, 0) == Write::none) return;
    const tenon_tensor& in = *raw.inputs[0];
    tenon_tensor& out = allocate_like(raw, in);
    const auto copy = [&](const void* from, const void* to, std::int64_t n) {
      gpu::copy(call, const_cast<void*>(to), from,
                static_cast<std::size_t>(n) * sizeof(std::int64_t));
    };
    copy(in.indices, out.indices, in.stored);
    if (in.storage == TENON_CSR) copy(in.row_starts, out.row_starts, in.dense.shape[0] + 1);
    std::int64_t count = stored_elements(in);
    const tenon_tensor from = values_of(in, &count);
    tenon_tensor to = values_of(out, &count);
    const tenon_tensor* inputs[] = {&from};
    this->run_forward(call, static_cast<DType>(in.dtype), &to, Write::to, inputs, 1);
  }
};

/// Adds the gradient.
template <class Class, class Forward>
struct CudaBackward : Forward {
  void backward(const Call& call) const {
    for (const bool in_place : {false, true})  // a gradient that uses the output gradient's memory
                                               // comes last, because the others still read it
      each_input(call, in_place,
                 std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>{});
  }

 private:
  template <std::size_t... I>
  void each_input(const Call& call, bool in_place, std::index_sequence<I...>) const {
    const auto is_requested = [&](int i) {
      return write_of(call, i) != Write::none && (write_of(call, i) == Write::in_place) == in_place;
    };
    ((is_requested(static_cast<int>(I)) ? input_gradient<I>(call) : void()), ...);
  }

  template <std::size_t input>
  void input_gradient(const Call& call) const {
    const tenon_call& raw = call.raw();
    const tenon_tensor* dy = raw.output_grads[0];
    tenon_tensor* dx = raw.input_grads[input];
    const Write write = write_of(call, static_cast<int>(input));
    if (!dy) return zero(call, *dx, write);
    Job job{};
    job.output = dx;
    job.write = write;
    if (rule<Class> == Rule::output) job.read(raw.outputs[0]);
    if (rule<Class> == Rule::inputs || rule<Class> == Rule::dual)
      for (std::uint32_t i = 0; i < raw.input_count; ++i) job.read(raw.inputs[i]);
    job.read(dy);
    const auto& f = static_cast<const Class&>(*this);
    visit<floating>(static_cast<DType>(dy->dtype), [&]<class Stored>() {
      using Function = DerivativeAt<Class, Computed<Stored>, input>;
      if (same_shape(dx->dense, dy->dense))
        launch_map<Function, Stored>(call, f, job);
      else
        launch_sum<Function, Stored>(call, f, job, dy->dense);
    });
  }

  static void zero(const Call& call, tenon_tensor& dx, Write write) {
    if (write == Write::add) return;
    const auto bytes =
        static_cast<std::size_t>(element_count(dx.dense)) * size_of(static_cast<DType>(dx.dtype));
    gpu::clear(call, static_cast<unsigned char*>(dx.dense.data) + dx.dense.byte_offset, bytes);
  }
};

template <class Class>
using CudaForwards = std::conditional_t<arity<Class> == 1, CudaSparse<Class>, CudaForward<Class>>;

/// The CUDA kernel of an elementwise class; void if the class has its own kernels, or a fault that
/// other checks report.
template <class Class>
constexpr auto choose_cuda() {
  using Chosen = typename decltype(choose<Class>())::type;
  if constexpr (std::is_same_v<Chosen, AllKernels<Class>>) {
    if constexpr (differentiable<Class> && !graph_gradient<Class>())
      return std::type_identity<CudaBackward<Class, CudaForwards<Class>>>{};
    else
      return std::type_identity<CudaForwards<Class>>{};
  } else {
    return std::type_identity<void>{};
  }
}

}  // namespace tenon::TENON_SDK::elementwise

namespace tenon::TENON_SDK {

/// Specializes the hook of registration.hpp.
template <class Class>
requires std::is_base_of_v<Elementwise, Class>
struct cuda_kernel<Class> {
  using type = typename decltype(elementwise::choose_cuda<Class>())::type;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
