// The host's own kernel: detects NaN and infinities.
#include <tenon/gpu/launch.hpp>

#include "device/mark_non_finite.hpp"
#include "device/stream.hpp"

namespace tenon {
namespace {

template <class Bits>
struct FiniteBody {
  const Bits* bits;
  Bits exponent;
  std::int64_t* found;

  TENON_FN void operator()(std::int64_t i) const {
    // a benign race: all threads write the same value
    if ((bits[i] & exponent) == exponent) *found = 1;
  }
};

template <class Bits>
void launch(const void* elements, std::int64_t n, Bits exponent, std::int64_t* found,
            const Stream& stream) {
  tenon_call raw{};
  raw.size = sizeof raw;
  raw.stream = stream.handle();
  gpu::for_each(Call(raw, {}), n,
                FiniteBody<Bits>{static_cast<const Bits*>(elements), exponent, found});
}

}  // namespace

void mark_non_finite(DType dtype, const void* elements, std::int64_t n, std::int64_t* found,
                     const Stream& stream) {
  with_exponent_bits(dtype, [&](auto exponent) {
    launch(elements, n * component_count(dtype), exponent, found, stream);
  });
}

}  // namespace tenon
