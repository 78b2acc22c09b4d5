// The fast paths of strided copies, compared with a simple implementation.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <tenon/host/tensor.hpp>

using namespace tenon;
using Ints64 = std::vector<std::int64_t>;

// Copies element by element, each located by its indices.
static std::vector<std::byte> copied_slowly(const Tensor& tensor) {
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype()));
  const Ints64 strides = tensor.strides();
  std::vector<std::byte> result(static_cast<std::size_t>(tensor.bytes()));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::int64_t offset = 0, rest = i;
    for (int axis = tensor.shape().rank() - 1; axis >= 0; --axis) {
      offset += rest % tensor.shape()[axis] * strides[static_cast<std::size_t>(axis)];
      rest /= tensor.shape()[axis];
    }
    const auto* const from = static_cast<const std::byte*>(tensor.data()) + offset * element;
    std::memcpy(result.data() + i * element, from, static_cast<std::size_t>(element));
  }
  return result;
}

static void check(const Tensor& tensor) {
  CAPTURE(tensor.to_string(0));
  CAPTURE(tensor.strides());
  const Tensor copy = tensor.clone();
  REQUIRE(copy.contiguous());
  REQUIRE(copy.shape() == tensor.shape());
  const std::vector<std::byte> expected = copied_slowly(tensor);
  REQUIRE((expected.empty() || std::memcmp(copy.data(), expected.data(), expected.size()) == 0));
}

static std::vector<std::uint64_t> numbered(std::size_t count) {
  std::vector<std::uint64_t> memory(count);
  for (std::size_t i = 0; i < count; ++i) memory[i] = i * 0x9e3779b97f4a7c15u;
  return memory;
}

TEST_CASE("strided copy: transposed, reversed, broadcast and sliced tensors") {
  std::vector<std::uint64_t> memory = numbered(200000);
  const struct {
    Shape shape;
    Ints64 strides;  // relative to the middle of the memory
  } cases[] = {
      {{64, 100}, {1, 64}},                    // a transposed matrix
      {{257, 129}, {1, 300}},                  // with gaps, not a multiple of the tile size
      {{4, 30, 70}, {2100, 1, 30}},            // each matrix of a batch
      {{2, 3, 17, 19}, {969, 1, 57, 3}},       // channels-last to channels-first
      {{2, 17, 19, 3}, {969, 19, 1, 323}},     // and back
      {{5, 6, 7}, {1, 5, 30}},                 // all axes reversed
      {{7, 5, 6}, {1, 42, 7}},                 // axes rotated
      {{50}, {-1}},                            // backwards
      {{50, 40}, {-40, 1}},                    // rows backwards
      {{40, 50}, {-1, 60}},                    // transposed, backwards
      {{9, 11}, {0, 1}},                       // a repeated row
      {{9, 11}, {1, 0}},                       // a broadcast row
      {{9, 11}, {0, 0}},                       // a broadcast column
      {{10, 10}, {22, 2}},                     // a broadcast element
      {{10, 10}, {20, 2}},                     // which merge into one axis
      {{3, 1, 4, 1, 5}, {100, -7, 1, 9, 10}},  // with axes of size 1
      {{2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}},
      {{}, {}},
      {{0, 5}, {1, 7}},
  };
  for (const auto& test : cases) {
    const Shape shape = test.strides.empty() ? Shape::scalar() : test.shape;
    for (const DType dtype : {u8, f16, f32, f64})
      check(Tensor::borrow(memory.data() + 100000, dtype, shape, test.strides));
  }
}

TEST_CASE("strided copy: random shapes and strides") {
  std::vector<std::uint64_t> memory = numbered(40000);
  std::mt19937 random(7);
  const auto up_to = [&](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 3000; ++round) {
    Ints64 dims(static_cast<std::size_t>(up_to(5))), strides;
    for (std::int64_t& dim : dims) dim = up_to(4) == 0 ? 20 + up_to(20) : 1 + up_to(4);
    const std::int64_t common[] = {0, 1, 2, 3, 16, 20, -1, -5, 40};
    for (std::size_t i = 0; i < dims.size(); ++i) strides.push_back(common[up_to(9)]);
    const DType dtypes[] = {boolean, bf16, i32, i64};
    check(Tensor::borrow(memory.data() + 20000, dtypes[round % 4],
                         Shape(dims.data(), static_cast<int>(dims.size())), strides));
  }
}
