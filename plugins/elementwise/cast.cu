#include <tenon/gpu/copy_indices.hpp>

#include "cast.hpp"

namespace {

template <class From, class To>
struct ConvertElements {
  const From* from;
  To* to;

  TENON_FN void operator()(std::int64_t i) const { to[i] = convert<To>(from[i]); }
};

}  // namespace

/// The sparse kernels allocate: they are not captured.
struct CastCuda : Cast {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { convert_on_device(call); }
  void forward_sparse(const tenon::Call& call) const { convert_on_device(call); }
  void backward(const tenon::Call& call) const { convert_on_device(call); }
  void backward_sparse(const tenon::Call& call) const { convert_on_device(call); }

 private:
  static void convert_on_device(const tenon::Call& call) {
    convert_all(call, tenon::gpu::CopyIndices{call}, [&]<class From, class To>(const From* from, To* to, std::int64_t count) {
      tenon::gpu::for_each(call, count, ConvertElements<From, To>{from, to});
    });
  }
};
TENON_KERNEL(cast, cuda, CastCuda)
