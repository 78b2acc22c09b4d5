// Products of matrices of 8-bit integers with exact int32 sums, their scales and the quantization
// of the result in one pass.
#include "quantized_matmul.hpp"

struct QuantizedMatmulCpu : QuantizedMatmul {
  void prepare(tenon::Prepare& io) const {
    if (!io.is_constant("b")) return;
    const auto b = io.input("b");
    const auto sizes = sizes_of(io.input("a").shape, b.shape);
    const product::int8::PackedRight right(sizes.inner, sizes.columns);
    const auto bytes = right.bytes();
    if (sizes.count_b == 0 || sizes.inner == 0 || sizes.columns == 0) return;
    const auto fill = [&]<class T>(void* memory) {
      const T* const data = io.constant<T>("b").data();
      for (std::int64_t i = 0; i < sizes.count_b; ++i)
        right.pack(matrix_b(data + i * sizes.inner * sizes.columns, b.dtype, sizes),
                   static_cast<std::byte*>(memory) + static_cast<std::size_t>(i) * bytes);
    };
    io.prepack(0, "b",
               tenon::join(right.packing(), " of ", sizes.count_b, " x ", sizes.inner, " x ",
                           sizes.columns, transpose_b ? ", transposed, " : ", ", b.dtype),
               bytes * static_cast<std::size_t>(sizes.count_b), [&](void* memory) {
                 b.dtype == tenon::u8 ? fill.operator()<std::uint8_t>(memory)
                                      : fill.operator()<std::int8_t>(memory);
               });
  }

  std::string algorithm(const tenon::Infer&) const {
    return choice::text_of(product::choose(product::Multiplies::int8));
  }

  void forward(const tenon::Call& call) const {
    const auto a = call.input_type("a"), b = call.input_type("b");
    const auto sizes = sizes_of(a.shape, b.shape);
    const auto members = members_of(a.shape, b.shape, sizes);
    const Operands operands{sizes, quantized::elements(call, "a"), quantized::elements(call, "b"),
                            a.dtype, b.dtype};
    const product::int8::PackedRight right(sizes.inner, sizes.columns);
    const void* packed = call.prepacked(0);
    std::vector<std::byte> own;
    if (!packed && sizes.columns > 0) {
      own = pack(call, operands, right);
      packed = own.data();
    }
    multiply(call, operands, members, packed, right);
  }

 private:
  struct Operands : Sizes {
    const std::byte *a, *b;
    tenon::DType a_dtype, b_dtype;
  };

  product::int8::Matrix matrix_b(const void* data, tenon::DType dtype, const Sizes& sizes) const {
    return {data, dtype, transpose_b ? sizes.inner : sizes.columns, transpose_b};
  }

  std::vector<std::byte> pack(const tenon::Call& call, const Operands& operands,
                              const product::int8::PackedRight& right) const {
    const auto size = operands.inner * operands.columns;
    std::vector<std::byte> packed(right.bytes() * static_cast<std::size_t>(operands.count_b));
    call.parallel_for(operands.count_b, 1 + 65536 / std::max<std::int64_t>(size, 1),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i)
                          right.pack(matrix_b(operands.b + i * size, operands.b_dtype, operands),
                                     packed.data() + static_cast<std::size_t>(i) * right.bytes());
                      });
    return packed;
  }

  /// Zero points of each matrix b, because they depend on the sums of its columns.
  std::vector<product::int8::ZeroPoints> zero_points(
      const tenon::Call& call, const Operands& operands, const void* packed,
      const product::int8::PackedRight& right) const {
    std::vector<product::int8::ZeroPoints> zeros;
    const auto of_a = quantized::zero_points(call, "a_zero_point"),
               of_b = quantized::zero_points(call, "b_zero_point");
    for (std::int64_t i = 0; i < operands.count_b; ++i)
      zeros.emplace_back(product::int8::usable_format(),
                         product::Size{operands.rows, operands.columns, operands.inner},
                         right.sums(static_cast<const std::byte*>(packed) +
                                    static_cast<std::size_t>(i) * right.bytes()),
                         operands.a_dtype, of_a.empty() ? 0 : of_a[0], operands.b_dtype, of_b);
    return zeros;
  }

  void multiply(const tenon::Call& call, const Operands& operands, const Members& members,
                const void* packed, const product::int8::PackedRight& right) const {
    if (operands.columns == 0 || operands.rows == 0) return;
    const auto& format = product::int8::usable_format();
    const product::Size size{operands.rows, operands.columns, operands.inner};
    const auto zeros = zero_points(call, operands, packed, right);
    quantized::with_result(
        call, *this, {"a"}, {"b"}, operands.columns, [&](auto* to, const auto& write) {
          product::for_each_tile(
              call, product::int8::cut(), static_cast<std::int64_t>(members.product.size()), size,
              [&](std::int64_t i, const product::Tile& tile) {
                const auto at = static_cast<std::size_t>(i);
                const auto b = static_cast<std::size_t>(members.b[at]);
                const product::int8::Matrix left{
                    operands.a + members.a[at] * operands.rows * operands.inner, operands.a_dtype,
                    operands.inner};
                auto* const result = to + members.product[at] * operands.rows * operands.columns;
                product::int8::multiply_tile(
                    format, size, static_cast<const std::byte*>(packed) + b * right.bytes(),
                    zeros[b], tile,
                    [&](std::int64_t row, std::int64_t rows, std::int64_t step, auto* words,
                        auto* sums) {
                      product::int8::fill_rows(format, left, operands.inner, row, rows, step, words,
                                               sums);
                    },
                    [&](const product::Tile& done, const std::int32_t* sums) {
                      write(done, sums, result + done.row * operands.columns + done.column,
                            operands.columns);
                    });
              });
        });
  }
};
TENON_OPERATOR(quantized_matmul, QuantizedMatmulCpu)
