// A session that runs 2,000 input shapes: memory is limited to its use after the largest one plus
// 16 MiB for fragmentation, a small fraction of what separate plans would need.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "../train/digits.hpp"
#include "memory_limit.hpp"

using namespace tenon;

TEST_CASE("memory: a session allocates for its largest input, however many shapes there are" *
          doctest::skip(!memory_can_be_limited)) {
  constexpr std::int64_t most = 2000, columns = 16;
  DigitsHost digits_host(1);
  Graph graph(digits_host.host);
  auto y = graph.input("x", f32, {-1, columns});
  for (int layer = 0; layer < 3; ++layer) y = graph.add("square", {graph.add("add", {y, y})});
  graph.output("y", graph.add("sum", {y}));
  Session session(graph);
  const auto run = [&](std::int64_t rows) { session.run({{"x", full(f32, {rows, columns}, 1)}}); };
  run(most);
  const MemoryLimit limit(16 << 20);
  for (std::int64_t rows = 1; rows < most; ++rows) run(rows);
  run(most);
}
