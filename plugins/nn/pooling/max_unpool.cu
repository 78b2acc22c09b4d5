// The CUDA kernel of max_unpool.
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>

#include "max_unpool.hpp"

namespace {

/// If several elements have the same position, the last one counts: last[position] becomes the
/// largest of their indices.
struct FindLast {
  UnpoolIndices to_output;
  const std::int64_t* indices;
  std::int64_t count;  ///< number of valid indices
  std::int64_t* last;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t i) const {
    if (!fault.fits(indices[i], count)) return;
    std::int64_t* const to = last + to_output.of(indices[i]);
#if defined(__CUDACC__)
    static_assert(sizeof(std::int64_t) == sizeof(long long));
    atomicMax(reinterpret_cast<long long*>(to), static_cast<long long>(i));
#else
    if (*to < i) *to = i;  // the simulated GPU runs one thread at a time
#endif
  }
};

template <class T>
struct PutLast {
  const std::int64_t* last;
  const T* data;
  T* output;

  TENON_FN void operator()(std::int64_t at) const {
    output[at] = last[at] < 0 ? T(0.0f) : data[last[at]];
  }
};

template <class T>
struct TakeBack {
  UnpoolIndices to_output;
  const std::int64_t *indices, *last;
  const T* dy;
  T* dx;
  tenon::gpu::Fault fault;
  std::int64_t count;

  TENON_DEVICE void operator()(std::int64_t i) const {
    if (!fault.fits(indices[i], count)) return;
    const auto at = to_output.of(indices[i]);
    dx[i] = last[at] == i ? dy[at] : T(0.0f);
  }
};

}  // namespace

struct MaxUnpoolCuda : MaxUnpool {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    const auto output = io.output(0).shape;
    return output.known() ? static_cast<std::size_t>(output.size()) * sizeof(std::int64_t) : 0;
  }
  std::size_t backward_workspace(const tenon::Infer& io) const { return workspace(io); }

  void forward(const tenon::Call& call) const {
    const auto data = call.input_type(0).shape, output = call.output_type(0).shape;
    std::int64_t* const last = find_last(call, data, output);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      tenon::gpu::for_each(call, output.size(),
                           PutLast<T>{last, call.input<T>(0).data(), call.output<T>(0).data()});
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input_type(0).shape, output = call.output_type(0).shape;
    const std::int64_t* const last = find_last(call, data, output);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      tenon::gpu::for_each(call, data.size(),
                           TakeBack<T>{{counted(data), output},
                                       call.input<std::int64_t>("indices").data(),
                                       last,
                                       call.output_grad<T>(0).data(),
                                       call.input_grad<T>(0).data(),
                                       tenon::gpu::Fault(call),
                                       counted(data).size()});
    });
  }

 private:
  std::int64_t* find_last(const tenon::Call& call, const tenon::Shape& data,
                          const tenon::Shape& output) const {
    const auto size = static_cast<std::size_t>(output.size());
    std::int64_t* const last = call.workspace<std::int64_t>(size);
    if (size == 0) return last;
    tenon::gpu::require(
        cudaMemsetAsync(last, 0xff, size * sizeof *last, tenon::gpu::stream_of(call)));
    tenon::gpu::for_each(call, data.size(),
                         FindLast{{counted(data), output},
                                  call.input<std::int64_t>("indices").data(),
                                  counted(data).size(),
                                  last,
                                  tenon::gpu::Fault(call)});
    return last;
  }
};
TENON_KERNEL(max_unpool, cuda, MaxUnpoolCuda)
