#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "isolate/requests.hpp"

using namespace tenon::isolate;

namespace {

using AttributeMessages = std::vector<AttributeMessage>;

std::vector<std::byte> sample() {
  std::vector<std::byte> bytes;
  const std::int64_t ints[] = {3, -4};
  const double floats[] = {0.5};
  const float elements[] = {0.5F, -0.0F, 3, 4, 5, 6};
  std::int64_t dims[] = {2, 3};
  tenon_tensor tensor = {};
  tensor.size = sizeof tensor;
  tensor.dtype = TENON_F32;
  tensor.dense = {const_cast<float*>(elements), TENON_CPU, 0, 2, 2, 32, 1, dims, nullptr, 0};
  tenon_attribute attributes[6] = {};
  attributes[0] = {.name = "count",
                   .kind = TENON_ATTR_INT,
                   .reserved = 0,
                   .count = 0,
                   .i = 7,
                   .f = 0,
                   .text = nullptr,
                   .reserved2 = 0};
  attributes[1] = {.name = "word",
                   .kind = TENON_ATTR_TEXT,
                   .reserved = 0,
                   .count = 3,
                   .i = 0,
                   .f = 0,
                   .text = "abc",
                   .reserved2 = 0};
  attributes[2] = {.name = "axes",
                   .kind = TENON_ATTR_INTS,
                   .reserved = 0,
                   .count = 2,
                   .i = 0,
                   .f = 0,
                   .ints = ints,
                   .reserved2 = 0};
  attributes[3] = {.name = "rates",
                   .kind = TENON_ATTR_FLOATS,
                   .reserved = 0,
                   .count = 1,
                   .i = 0,
                   .f = 0,
                   .floats = floats,
                   .reserved2 = 0};
  attributes[4] = {.name = "names",
                   .kind = TENON_ATTR_TEXTS,
                   .reserved = 0,
                   .count = 5,
                   .i = 0,
                   .f = 0,
                   .text = "ab\0\0c",
                   .reserved2 = 0};
  attributes[5] = {.name = "taps",
                   .kind = TENON_ATTR_TENSOR,
                   .reserved = 0,
                   .count = 0,
                   .i = 0,
                   .f = 0,
                   .tensor = &tensor,
                   .reserved2 = 0};
  Writer(bytes).put(messages_of(attributes));
  return bytes;
}

}  // namespace

TEST_CASE("messages: attributes round-trip") {
  const auto bytes = sample();
  const OwnedAttributes read(read_message<AttributeMessages>(bytes));
  REQUIRE(read.all().size() == 6);
  CHECK(std::string(read.all()[0].name) == "count");
  CHECK(read.all()[0].i == 7);
  CHECK(std::string(read.all()[1].text, read.all()[1].count) == "abc");
  CHECK(read.all()[2].ints[1] == -4);
  CHECK(read.all()[3].floats[0] == 0.5);
  CHECK(std::string(read.all()[4].text, read.all()[4].count) == std::string("ab\0\0c", 5));
  const auto tensor = tenon::Tensor::borrow(*read.all()[5].tensor);
  CHECK(tenon::same_bits(tensor, tenon::Tensor::from<float>({0.5F, -0.0F, 3, 4, 5, 6}, {2, 3})));
}

TEST_CASE("messages: the receiver refuses a tensor that is not dense or not on the CPU") {
  const float elements[] = {1, 2};
  std::int64_t dims[] = {2}, strides[] = {1};
  const auto message = [&](auto&& change) {
    tenon_tensor tensor = {};
    tensor.dtype = TENON_F32;
    tensor.dense = {const_cast<float*>(elements), TENON_CPU, 0, 1, 2, 32, 1, dims, nullptr, 0};
    change(tensor);
    tenon_attribute attribute = {};
    attribute.name = "taps", attribute.kind = TENON_ATTR_TENSOR, attribute.tensor = &tensor;
    std::vector<std::byte> bytes;
    Writer(bytes).put(messages_of({&attribute, 1}));
    return bytes;
  };
  const auto refused = [](const std::vector<std::byte>& bytes) {
    CHECK_THROWS_AS(OwnedAttributes(read_message<AttributeMessages>(bytes)), ProtocolError);
  };
  const auto whole = message([](auto&) {});
  CHECK(OwnedAttributes(read_message<AttributeMessages>(whole)).all().size() == 1);
  const auto empty =
      message([](auto& tensor) { *tensor.dense.shape = 0, tensor.dense.data = nullptr; });
  dims[0] = 2;
  const OwnedAttributes owned(read_message<AttributeMessages>(empty));
  CHECK(tenon::Tensor::borrow(*owned.all()[0].tensor).to_string() == "float32 [0]");
  refused(message([&](auto& tensor) { tensor.dense.strides = strides; }));
  refused(message([](auto& tensor) { tensor.dense.device_type = TENON_CUDA; }));
  refused(message([](auto& tensor) { tensor.storage = TENON_CSR; }));
  refused(message([](auto& tensor) { tensor.dtype = TENON_DTYPE_UNKNOWN; }));
  refused(message([](auto& tensor) { tensor.dense.ndim = 9; }));
  refused(message([](auto& tensor) { tensor.dense.ndim = -1; }));
}

TEST_CASE("messages: a truncated message is refused") {
  const auto bytes = sample();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_THROWS_AS(read_message<AttributeMessages>(cut), ProtocolError);
  }
}

TEST_CASE("messages: every word of a message may have any value") {
  const auto bytes = sample();
  for (std::size_t place = 0; place + 4 <= bytes.size(); place += 4)
    for (const std::uint32_t word : {0u, 1u, 7u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      auto forged = bytes;
      std::memcpy(forged.data() + place, &word, sizeof word);
      try {
        const auto messages = read_message<AttributeMessages>(forged);
        const OwnedAttributes owned(messages);
        CHECK(owned.all().size() == messages.size());
      } catch (const ProtocolError&) {
      }
    }
}

TEST_CASE("messages: trailing bytes are refused") {
  const auto bytes = sample();
  Reader reader(bytes);
  CHECK_THROWS_AS(reader.expect_end(), ProtocolError);
}

TEST_CASE("messages: a count beyond the end is refused") {
  const std::uint64_t counts[] = {UINT64_MAX, 0};
  const auto bytes = std::as_bytes(std::span(counts));
  CHECK_THROWS_AS(read_message<std::span<const std::int64_t>>(bytes), ProtocolError);
  CHECK_THROWS_AS(read_message<std::string_view>(bytes), ProtocolError);
  CHECK_THROWS_AS(read_message<AttributeMessages>(bytes), ProtocolError);
  CHECK_THROWS_AS(read_message<AddCallback>(bytes), ProtocolError);
}

TEST_CASE("messages: a request round-trips") {
  const tenon_type types[2] = {{}, {}};
  const std::uint8_t elements[3] = {1, 2, 3};
  const InferRequest request{{{types, types + 2}, {types, types + 1}, {}},
                             {{0, {}}, {1, std::as_bytes(std::span(elements))}},
                             TENON_BACKWARD};
  std::vector<std::byte> bytes;
  Writer(bytes).put(request);
  CHECK(bytes_of(request) == bytes.size());
  const auto read = read_message<InferRequest>(bytes);
  CHECK(read.types.inputs.size() == 2);
  CHECK(read.types.outputs.size() == 1);
  CHECK(read.types.states.empty());
  CHECK(read.dispatch == TENON_BACKWARD);
  REQUIRE(read.values.size() == 2);
  CHECK(read.values[0].known == 0);
  CHECK(read.values[1].known == 1);
  REQUIRE(read.values[1].elements.size() == 3);
  CHECK(std::memcmp(read.values[1].elements.data(), elements, 3) == 0);
}
