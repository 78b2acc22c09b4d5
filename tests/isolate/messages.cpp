#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "isolate/attribute_message.hpp"
#include "isolate/message.hpp"

using namespace tenon::isolate;

namespace {

std::vector<std::byte> sample() {
  std::vector<std::byte> bytes;
  Writer writer(bytes);
  const std::int64_t ints[] = {3, -4};
  const double floats[] = {0.5};
  tenon_attribute attributes[4] = {};
  attributes[0] = {.name = "count", .kind = TENON_ATTR_INT, .reserved = 0, .count = 0, .i = 7, .f = 0, .text = nullptr, .reserved2 = 0};
  attributes[1] = {.name = "word", .kind = TENON_ATTR_TEXT, .reserved = 0, .count = 3, .i = 0, .f = 0, .text = "abc", .reserved2 = 0};
  attributes[2] = {.name = "axes", .kind = TENON_ATTR_INTS, .reserved = 0, .count = 2, .i = 0, .f = 0, .ints = ints, .reserved2 = 0};
  attributes[3] = {.name = "rates", .kind = TENON_ATTR_FLOATS, .reserved = 0, .count = 1, .i = 0, .f = 0, .floats = floats, .reserved2 = 0};
  put_attributes(writer, attributes);
  return bytes;
}

}  // namespace

TEST_CASE("attributes come out of a message as they went in") {
  const auto bytes = sample();
  Reader reader(bytes);
  const OwnedAttributes read(reader, 4);
  reader.expect_end();
  REQUIRE(read.all().size() == 4);
  CHECK(std::string(read.all()[0].name) == "count");
  CHECK(read.all()[0].i == 7);
  CHECK(std::string(read.all()[1].text, read.all()[1].count) == "abc");
  CHECK(read.all()[2].ints[1] == -4);
  CHECK(read.all()[3].floats[0] == 0.5);
}

TEST_CASE("a message that is cut off anywhere is refused") {
  const auto bytes = sample();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    Reader reader(cut);
    CHECK_THROWS_AS(OwnedAttributes(reader, 4), ProtocolError);
  }
}

TEST_CASE("every word of a message may be any number") {
  const auto bytes = sample();
  for (std::size_t place = 0; place + 4 <= bytes.size(); place += 4)
    for (const std::uint32_t word : {0u, 1u, 7u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      auto forged = bytes;
      std::memcpy(forged.data() + place, &word, sizeof word);
      Reader reader(forged);
      try {
        const OwnedAttributes read(reader, 4);
        CHECK(read.all().size() == 4);
      } catch (const ProtocolError&) {
      }
    }
}

TEST_CASE("a message that is longer than what is taken from it is refused") {
  const auto bytes = sample();
  Reader reader(bytes);
  CHECK_THROWS_AS(reader.expect_end(), ProtocolError);
  CHECK_THROWS_AS(reader.take_array<std::int64_t>(UINT64_MAX), ProtocolError);
}
