#include <tenon/gpu/copy_indices.hpp>

#include "cast.hpp"

namespace {

/// Converts index i of [0, pieces()): a vector whose wider type takes 16 bytes, or one element.
template <class From, class To>
class ConvertElements {
 public:
  ConvertElements(const From* from, To* to, std::int64_t count)
      : from_(from), to_(to), count_(count) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % (width * sizeof(From)) == 0 &&
                         reinterpret_cast<std::uintptr_t>(to) % (width * sizeof(To)) == 0;
    packs_ = aligned ? count / width : 0;
  }

  std::int64_t pieces() const { return count_ - packs_ * (width - 1); }
  TENON_FN void operator()(std::int64_t i) const {
    i < packs_ ? take<width>(i * width) : take<1>(i + packs_ * (width - 1));
  }

 private:
  static constexpr std::int64_t width =
      16 / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));

  template <std::int64_t n>
  TENON_FN void take(std::int64_t first) const {
    alignas(16) From in[n];
    alignas(16) To out[n];
    auto* const to = __builtin_assume_aligned(
        reinterpret_cast<unsigned char*>(to_) + first * static_cast<std::int64_t>(sizeof(To)),
        sizeof out);
    __builtin_memcpy(in, __builtin_assume_aligned(from_ + first, sizeof in), sizeof in);
    for (std::int64_t j = 0; j < n; ++j) out[j] = convert<To>(in[j]);
    __builtin_memcpy(to, out, sizeof out);
  }

  const From* from_;
  To* to_;
  std::int64_t count_, packs_;
};

}  // namespace

/// Only the dense kernels are captured: the sparse ones allocate their results.
struct CastCuda : Cast {
  static constexpr bool capturable = true;
  /// The integer dtypes added in 0.2 and complex dtypes run on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return tenon::any_type.has(dtype) && tenon::any_type.has(types.input(0).dtype);
  }
  void forward(const tenon::Call& call) const { convert_on_device(call); }
  void forward_sparse(const tenon::Call& call) const { convert_on_device(call); }
  void backward(const tenon::Call& call) const { convert_on_device(call); }
  void backward_sparse(const tenon::Call& call) const { convert_on_device(call); }

 private:
  static void convert_on_device(const tenon::Call& call) {
    convert_all(call, tenon::gpu::CopyIndices{call},
                [&]<class From, class To>(const From* from, To* to, std::int64_t count) {
                  const ConvertElements<From, To> body(from, to, count);
                  tenon::gpu::for_each(call, body.pieces(), body);
                });
  }
};
TENON_KERNEL(cast, cuda, CastCuda)
