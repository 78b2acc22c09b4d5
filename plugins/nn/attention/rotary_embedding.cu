// The CUDA kernel of rotary_embedding.
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>

#include "rotary_embedding.hpp"

namespace {

/// Pair i and the position of its angle.
struct PairsOnDevice : RotaryPairs {
  const std::int64_t* positions;  ///< null: rows of cos and sin are consecutive
  std::int64_t rows;              ///< of cos and sin
  tenon::gpu::Fault fault;

  TENON_FN std::int64_t count() const { return batch * steps * heads * pairs; }
  /// Negative if the position is out of range, which becomes a fault.
  TENON_DEVICE std::int64_t angle(std::int64_t row, std::int64_t k) const {
    const auto position = positions ? positions[row] : row;
    return !positions || fault.fits(position, rows) ? position * pairs + k : -1;
  }
};

/// (cos a - sin b, sin a + cos b), or the inverse rotation with the sign of sin flipped.
template <class T>
struct RotatePair {
  PairsOnDevice pairs;
  const T *data, *cos, *sin;
  T* output;
  bool inverse;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto k = i % pairs.pairs, head = i / pairs.pairs % pairs.heads,
               row = i / pairs.pairs / pairs.heads, angle = pairs.angle(row, k);
    if (angle < 0) return;
    using W = Wide<T>;
    const auto a = pairs.a(row, head, k), b = pairs.b(a);
    const W x = static_cast<W>(data[a]), y = static_cast<W>(data[b]),
            c = static_cast<W>(cos[angle]), s = static_cast<W>(sin[angle]);
    output[a] = T(inverse ? c * x + s * y : c * x - s * y);
    output[b] = T(inverse ? c * y - s * x : s * x + c * y);
  }
};

/// The gradients of one angle: sums over all pairs rotated by it.
template <class T>
struct SumAngle {
  PairsOnDevice pairs;
  const T *data, *dy;
  T *dcos, *dsin;  ///< null: not requested

  TENON_DEVICE void operator()(std::int64_t angle) const {
    using W = Wide<T>;
    const auto k = angle % pairs.pairs, position = angle / pairs.pairs;
    W cos = 0, sin = 0;
    for (auto row = pairs.positions ? 0 : position;
         row < (pairs.positions ? pairs.batch * pairs.steps : position + 1); ++row) {
      if (pairs.angle(row, k) != angle) continue;
      for (std::int64_t head = 0; head < pairs.heads; ++head) {
        const auto a = pairs.a(row, head, k), b = pairs.b(a);
        const W x = static_cast<W>(data[a]), y = static_cast<W>(data[b]), p = static_cast<W>(dy[a]),
                q = static_cast<W>(dy[b]);
        cos += p * x + q * y;
        sin += q * x - p * y;
      }
    }
    if (dcos) dcos[angle] = T(cos);
    if (dsin) dsin[angle] = T(sin);
  }
};

}  // namespace

struct RotaryEmbeddingCuda : RotaryEmbedding {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      rotate(call, call.input<T>(0).data(), call.output<T>(0).data(), false);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      const auto gradient = [&](int i) {
        return call.write(i) != tenon::Write::none ? call.input_grad<T>(i).data() : nullptr;
      };
      T *const dcos = gradient(1), *const dsin = gradient(2);
      if (dcos ||
          dsin)  // computed before data's gradient, which may share memory with the output's
        tenon::gpu::for_each(
            call, call.input_type(1).shape.size(),
            SumAngle<T>{pairs_on_device(call), call.input<T>(0).data(), dy, dcos, dsin});
      if (T* const dx = gradient(0)) rotate(call, dy, dx, true);
    });
  }

 private:
  PairsOnDevice pairs_on_device(const tenon::Call& call) const {
    const std::int64_t* const positions =
        call.has_input("positions") ? call.input<std::int64_t>("positions").data() : nullptr;
    return {pairs_of(call), positions, call.input_type(1).shape[0], tenon::gpu::Fault(call)};
  }

  template <class T>
  void rotate(const tenon::Call& call, const T* from, T* to, bool inverse) const {
    const auto pairs = pairs_on_device(call);
    if (2 * pairs.pairs < pairs.size) tenon::gpu::copy(call, to, from, call.input_bytes(0));
    tenon::gpu::for_each(
        call, pairs.count(),
        RotatePair<T>{pairs, from, call.input<T>(1).data(), call.input<T>(2).data(), to, inverse});
  }
};
TENON_KERNEL(rotary_embedding, cuda, RotaryEmbeddingCuda)
