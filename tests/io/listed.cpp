#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/counted.hpp"

using tenon::listed;

TEST_CASE("listed: any number of names for a message") {
  CHECK(listed(std::vector<std::string>{}) == "none");
  CHECK(listed(std::vector<const char*>{"x"}) == "x");
  CHECK(listed(std::vector<std::string>{"x", "y"}) == "x, y");
  std::vector<int> numbers;
  for (int i = 0; i < 16; ++i) numbers.push_back(i);
  CHECK(listed(numbers) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15");
  for (int i = 16; i < 1000000; ++i) numbers.push_back(i);
  CHECK(listed(numbers) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 999984 more");
}
