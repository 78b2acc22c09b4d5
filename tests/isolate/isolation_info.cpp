#include <doctest/doctest.h>

#include <tenon/host/isolation.hpp>

TEST_CASE("a worker says what it is kept from") {
  const auto info = tenon::isolation_info();
  CHECK(info.error == "");
  CHECK(info.limits.ends_with("rlimits"));
}
