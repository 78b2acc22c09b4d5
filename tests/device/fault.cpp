#include "device/fault.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("faults: errors found by a GPU kernel have a message") {
  const struct {
    tenon_fault fault;
    std::string text;
  } rows[] = {
      {{TENON_FAULT_NONE, 5, 3}, ""},
      {{TENON_FAULT_INDEX, 7, 4}, "index 7 is out of range: it must be from 0 to 3"},
      {{TENON_FAULT_INDEX, -1, 1}, "index -1 is out of range: it must be from 0 to 0"},
      {{TENON_FAULT_INDEX, 2, 0}, "index 2 is out of range: the dimension is empty"},
      {{99, 0, 0}, "its kernel reported unknown fault 99"},
  };
  for (const auto& row : rows) CHECK(tenon::fault_text(row.fault) == row.text);
}
