#include <doctest/doctest.h>

#include <tenon/host/isolation.hpp>

TEST_CASE("isolation info: describes a worker's confinement") {
  const auto info = tenon::isolation_info();
  CHECK(info.error == "");
  CHECK(info.limits.ends_with("rlimits"));
}
