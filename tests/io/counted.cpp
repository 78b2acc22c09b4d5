// Numbers with the word for what they count.
#include "io/counted.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using tenon::counted;

TEST_CASE("counted: singular and plural") {
  CHECK(counted(0, "step") == "0 steps");
  CHECK(counted(1, "step") == "1 step");
  CHECK(counted(UINT64_MAX, "byte") == "18446744073709551615 bytes");
  CHECK(counted(-1, "row") == "-1 rows");
  CHECK(counted(1, "entry", "entries") == "1 entry");
  CHECK(counted(2, "entry", "entries") == "2 entries");
}
