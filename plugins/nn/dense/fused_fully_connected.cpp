// A dense layer with its epilogue in one pass: addend and activation are applied while a tile of
// the output is in the cache.
#include <algorithm>

#include "../../shared/activation.hpp"
#include "../../shared/fusing_rules.hpp"
#include "../../shared/product/multiply_bf16.hpp"
#include "dense_layer.hpp"
#include "dense_product.hpp"

struct FusedFullyConnected : DenseLayer<WithActivation> {
  static constexpr void describe(auto& op) {
    op.doc(
        "activation(data @ weight^T + bias + addend); bit-identical to fully_connected, add and "
        "the activation's operator in sequence; inference on the CPU only, not differentiable");
    op.types({tenon::f32, tenon::f64});
    describe_tensors(op);
    op.input("addend", "same shape as output; added before the activation; default: 0").optional();
    op.param("num_hidden", &FusedFullyConnected::num_hidden,
             "number of output features; 0: the number of rows of weight")
        .at_least(0);
    describe_other_parameters(op);
    describe_activation(op);
    TENON_FUSE(op, "fully_connected", "fused_fully_connected");
    op.example({{"data", {2, 3}}, {"weight", {4, 3}}, {"bias", {4}}, {"addend", {2, 4}}},
               {{"num_hidden", 4}, {"activation", "gelu"}});
    op.example({{"data", {2, 5, 3}}, {"weight", {4, 3}}, {"bias", {4}}}, {{"flatten", false}});
  }

  void infer(tenon::Infer& io) const {
    DenseLayer::infer(io);
    if (!io.has_input("addend")) return;
    if (const auto output = io.output(0).shape; output.has_rank()) io.set_input("addend", output);
    if (const auto addend = io.input("addend").shape; addend.has_rank()) io.set_output(0, addend);
  }

  void prepare(tenon::Prepare& io) const {
    prepack_weight(io, hidden_of(io.input("weight").shape));
  }
  std::string algorithm(const tenon::Infer& io) const { return dense_forward_algorithm(io); }

  void forward(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? forward_f64(call) : forward_f32(call);
  }

 protected:
  template <class T>
  static const T* addend_of(const tenon::Call& call) {
    return call.has_input("addend") ? call.input<T>("addend").data() : nullptr;
  }

  /// Prefetches the addend of the next rows, whose segments are too short for the hardware
  /// prefetcher.
  [[gnu::always_inline]] static void fetch(const float* row, std::int64_t columns) {
    constexpr std::int64_t line = 16;
    for (std::int64_t i = 0; i < columns; i += line) __builtin_prefetch(row + i);
  }

  template <class Arithmetic = product::F32Arithmetic>
  void forward_f32(const tenon::Call& call) const {
    float* const output = call.output<float>(0).data();
    const float* const addend = addend_of<float>(call);
    const auto hidden = hidden_of(call.input_type(1).shape),
               rows = call.output_type(0).shape.size() / std::max<std::int64_t>(hidden, 1);
    dense_product_f32<Arithmetic>(call, hidden, [&](const product::Tile& tile) {
      const auto first = tile.row * hidden + tile.column,
                 after = std::min(tile.row + 2 * tile.rows, rows);
      for (auto row = tile.row + tile.rows; addend && row < after; ++row)
        fetch(addend + row * hidden + tile.column, tile.columns);
      activate(output + first, addend ? addend + first : nullptr,
               Rows{tile.rows, tile.columns, hidden});
    });
  }

  void forward_f64(const tenon::Call& call) const {
    dense_product_f64(call, hidden_of(call.input_type(1).shape));
    const auto output = call.output<double>(0);
    const double* const addend = addend_of<double>(call);
    call.parallel_for(output.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
      activate(output.data() + begin, addend ? addend + begin : nullptr, end - begin);
    });
  }
};
TENON_OPERATOR(fused_fully_connected, FusedFullyConnected)

#if defined(TENON_WIDE_LEVELS)
struct FusedFullyConnectedInBf16 : FusedFullyConnected {
  using Arithmetic = product::bf16::Bf16Arithmetic;
  static constexpr int priority = 1;

  bool supports(const tenon::Infer& types) const { return Arithmetic::supports(types); }
  void prepare(tenon::Prepare& io) const {
    prepack_weight<Arithmetic>(io, hidden_of(io.input("weight").shape));
  }
  std::string algorithm(const tenon::Infer& io) const {
    return dense_forward_algorithm<Arithmetic>(io);
  }
  void forward(const tenon::Call& call) const { forward_f32<Arithmetic>(call); }
};
TENON_KERNEL_VARIANT(fused_fully_connected, cpu, FusedFullyConnectedInBf16)
#endif
