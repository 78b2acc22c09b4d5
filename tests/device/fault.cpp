#include "device/fault.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("what a GPU's kernel found wrong is told in words") {
  const struct {
    tenon_fault fault;
    std::string text;
  } rows[] = {
      {{TENON_FAULT_NONE, 5, 3}, ""},
      {{TENON_FAULT_INDEX, 7, 4}, "an index is 7, but must be from 0 to 3"},
      {{TENON_FAULT_INDEX, -1, 1}, "an index is -1, but must be from 0 to 0"},
      {{TENON_FAULT_INDEX, 2, 0}, "an index is 2, where there is nothing to point to"},
      {{99, 0, 0}, "its kernel found a fault of kind 99, which this host does not know"},
  };
  for (const auto& row : rows) CHECK(tenon::fault_text(row.fault) == row.text);
}
