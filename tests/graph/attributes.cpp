// Parameter values as applications write them.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tenon/host/attribute_map.hpp>
#include <vector>

#include "check_says.hpp"
#include "failure_of.hpp"

using tenon::Attributes;
using tenon::AttributeValue;
using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

namespace {

template <class T>
bool holds(const AttributeValue& value, const T& expected) {
  const auto* content = std::get_if<T>(&value.variant());
  return content != nullptr && *content == expected;
}

constexpr auto most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE_TEMPLATE("attributes: integers of any type", T, short, unsigned short, int, unsigned,
                   long, unsigned long, long long, unsigned long long, std::size_t, std::int8_t,
                   std::uint8_t, std::int64_t, std::uint64_t, char, wchar_t, char8_t, char16_t,
                   char32_t) {
  CHECK(holds<std::int64_t>(AttributeValue(T{7}), 7));
  CHECK(holds<std::int64_t>(std::numeric_limits<T>::min(),
                            static_cast<std::int64_t>(std::numeric_limits<T>::min())));
  CHECK(holds<Integers>(std::vector<T>{T{1}, T{2}}, {1, 2}));
  CHECK(holds<Integers>({T{3}}, {3}));
}

TEST_CASE("attributes: booleans, floats and strings") {
  CHECK(holds(AttributeValue(true), true));
  CHECK(holds(AttributeValue(0.5F), 0.5));
  CHECK(holds(AttributeValue(0.25), 0.25));
  CHECK(holds<std::string>("words", "words"));
  CHECK(holds<std::string>(std::string_view("words of more").substr(0, 5), "words"));
  CHECK(holds<std::string>(std::string("words"), "words"));
  CHECK(holds<Reals>(std::vector<float>{0.5F, 2}, {0.5, 2}));
  CHECK(holds<Reals>(Reals{0.1}, {0.1}));
}

TEST_CASE("attributes: braced lists; one non-integer makes all elements doubles") {
  const Attributes attributes{{"sizes", {1, 2}},
                              {"scales", {0.5, 1}},
                              {"mixed", {std::size_t{1}, 2, -3L}},
                              {"one", {4}},
                              {"real", {4.0}},
                              {"number", 4},
                              {"text", std::string_view("x")},
                              {"truth", false}};
  const AttributeValue expected[] = {
      Integers{1, 2}, Reals{0.5, 1}, Integers{1, 2, -3}, Integers{4}, Reals{4}, 4, "x", false};
  REQUIRE(attributes.size() == std::size(expected));
  std::size_t at = 0;
  for (const auto& entry : attributes) {
    CAPTURE(entry.first);
    CHECK(entry.second == expected[at++]);
  }
  Attributes more;
  more.set("axes", {0, 2});
  CHECK(holds<Integers>(more.begin()->second, {0, 2}));
}

TEST_CASE("attributes: refuses integers that int64 cannot hold") {
  const auto large = static_cast<std::uint64_t>(most) + 1;
  CHECK(holds<std::int64_t>(static_cast<std::uint64_t>(most), most));
  const FailureText failures[] = {failure_of([&] {
                                    Attributes{{"size", large}};
                                  }),
                                  failure_of([&] {
                                    Attributes{{"sizes", {std::uint64_t{1}, large}}};
                                  }),
                                  failure_of([&] {
                                    Attributes{{"sizes", std::vector<std::uint64_t>{large}}};
                                  })};
  for (const auto& failure : failures) {
    CHECK(failure.kind == 2);
    check_says(failure.message,
               {"number 9223372036854775808 does not fit", "at most 9223372036854775807"});
  }
}
