// The CUDA kernel of one_hot.
#include "../../shared/any_elements.hpp"
#include "../../shared/fold_on_device.hpp"
#include "one_hot.hpp"
#include "shared/box_walk.hpp"

namespace {

using Indices = AnyElements<std::int64_t, std::uint8_t, std::int8_t, std::int32_t, std::int64_t>;

template <int bytes>
struct PutHot {
  OneHotIndexing indexing;
  Indices indices;
  const Unit<bytes>* values;  ///< null: use `plain`
  Unit<bytes> plain[2];
  Unit<bytes>* output;

  TENON_FN void operator()(std::int64_t i) const {
    const int hot = indexing.is_named(i, indices[indexing.index_of(i)]) ? 1 : 0;
    output[i] = values ? values[hot] : plain[hot];
  }
};

/// The accumulator of values' gradient: two sums that are computed together.
struct OffAndOn {
  struct Acc {
    double off, on;
  };
  TENON_FN static Acc identity() { return {0, 0}; }
  TENON_FN static Acc merge(Acc l, Acc r) { return {l.off + r.off, l.on + r.on}; }
};

template <class T>
struct Slope {
  OneHotIndexing indexing;
  Indices indices;
  const T* dy;

  TENON_FN OffAndOn::Acc operator()(std::int64_t i, std::int64_t, std::int64_t) const {
    const auto slope = static_cast<double>(static_cast<Plain<T>>(dy[i]));
    if (indexing.is_named(i, indices[indexing.index_of(i)])) return {0, slope};
    return {slope, 0};
  }
};

template <class T>
struct PutSlopes {
  T* to;

  TENON_FN void operator()(std::int64_t, OffAndOn::Acc sums) const {
    to[0] = static_cast<T>(static_cast<Plain<T>>(sums.off));
    to[1] = static_cast<T>(static_cast<Plain<T>>(sums.on));
  }
};

}  // namespace

struct OneHotCuda : OneHot {
  static constexpr bool capturable = true;
  /// Complex numbers are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return !tenon::any_complex.has(types.output(0).dtype);
  }

  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto output = io.output(0).shape;
    return output.known() ? all_of(output).workspace() : 0;
  }

  void forward(const tenon::Call& call) const {
    switch (tenon::size_of(call.output_type(0).dtype)) {
      case 1:
        return put<1>(call);
      case 2:
        return put<2>(call);
      case 4:
        return put<4>(call);
      default:
        return put<8>(call);
    }
  }

  void backward(const tenon::Call& call) const {
    if (!call.has_input("values") || call.write(2) == tenon::Write::none) return;
    const auto space = all_of(call.output_type(0).shape);
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      fold<OffAndOn>(
          call, space,
          Slope<T>{indexing_of(call), Indices::of(call, 0), call.output_grad<T>(0).data()},
          PutSlopes<T>{call.input_grad<T>(2).data()}, fold_scratch(call, space));
    });
  }

 private:
  static FoldSpace all_of(const tenon::Shape& output) {
    return {output, (1u << output.rank()) - 1};
  }

  template <int bytes>
  void put(const tenon::Call& call) const {
    PutHot<bytes> body{indexing_of(call),
                       Indices::of(call, 0),
                       nullptr,
                       {},
                       reinterpret_cast<Unit<bytes>*>(bytes::output(call, 0))};
    const Values values(call);
    for (int i = 0; i < 2; ++i) std::memcpy(&body.plain[i], values.plain[i], bytes);
    if (call.has_input("values"))
      body.values = reinterpret_cast<const Unit<bytes>*>(bytes::input(call, 2));
    tenon::gpu::for_each(call, call.output_type(0).shape.size(), body);
  }
};
TENON_KERNEL(one_hot, cuda, OneHotCuda)
