#include <doctest/doctest.h>

#include "plan/memory/greedy.hpp"

TEST_CASE("orders: by size, by breadth") {
  using Order = std::vector<std::uint32_t>;
  struct Case {
    const char* what;
    std::vector<tenon::Buffer> buffers;
    Order by_size, by_breadth;
  };
  const Case cases[] = {
      {"nothing", {}, {}, {}},
      {"equal sizes: longest lifetime first, then in input order",
       {{64, 0, 1}, {64, 0, 3}, {64, 1, 2}},
       {1, 0, 2},
       {1, 0, 2}},
      {"256 alive at steps 0 and 1, 384 at step 4",
       {{192, 0, 1}, {64, 0, 4}, {128, 4, 5}, {192, 4, 4}},
       {0, 3, 2, 1},
       {3, 2, 1, 0}},
      {"the broadest step is not the first",
       {{64, 0, 9}, {64, 1, 2}, {320, 3, 3}, {128, 2, 2}},
       {2, 3, 0, 1},
       {2, 0, 3, 1}},
      {"empty buffers come last", {{0, 0, 5}, {64, 2, 2}}, {1, 0}, {1, 0}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    CHECK((tenon::order_by_size(c.buffers) == c.by_size));
    CHECK((tenon::order_by_breadth(c.buffers) == c.by_breadth));
  }
}
