// Dependencies between streams: conflicting work is ordered, and no wait is redundant.
#include "plan/dependencies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using tenon::DependencyTracker;
using tenon::MemoryAccess;

namespace {

struct Piece {
  std::uint32_t stream;
  std::vector<MemoryAccess> accesses;
  bool finished = false;  // the submitting thread waits for the work
  std::vector<std::uint32_t> waits{};
};

bool conflict(const Piece& one, const Piece& other) {
  for (const auto& left : one.accesses)
    for (const auto& right : other.accesses)
      if ((left.written || right.written) &&
          std::max(left.begin, right.begin) < std::min(left.end, right.end))
        return true;
  return false;
}

using Matrix = std::vector<std::vector<bool>>;

/// [later][earlier]: whether `earlier` completes before `later` starts. Omits wait `left_out` of
/// piece `of`.
Matrix order_of(const std::vector<Piece>& pieces, std::size_t of = SIZE_MAX,
                std::size_t left_out = 0) {
  Matrix before(pieces.size(), std::vector<bool>(pieces.size()));
  for (std::size_t later = 0; later < pieces.size(); ++later) {
    const auto come_after = [&](std::size_t earlier) {
      before[later][earlier] = true;
      for (std::size_t i = 0; i < earlier; ++i)
        if (before[earlier][i]) before[later][i] = true;
    };
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (pieces[earlier].stream == pieces[later].stream || pieces[earlier].finished)
        come_after(earlier);
    for (std::size_t i = 0; i < pieces[later].waits.size(); ++i)
      if (later != of || i != left_out) come_after(pieces[later].waits[i]);
  }
  return before;
}

/// Returns the first conflicting pair that is not ordered; empty if there is none.
std::string race_in(const std::vector<Piece>& pieces, const Matrix& before) {
  for (std::size_t later = 0; later < pieces.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (conflict(pieces[earlier], pieces[later]) && !before[later][earlier])
        return std::to_string(earlier) + " and " + std::to_string(later);
  return {};
}

void fill_waits(std::vector<Piece>& pieces, std::uint32_t streams) {
  DependencyTracker waits(streams);
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    pieces[i].waits = waits.add(pieces[i].stream, pieces[i].accesses);
    if (pieces[i].finished) waits.finished(i);
  }
}

using List = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("dependencies: waits of small cases") {
  struct Case {
    const char* what;
    std::vector<Piece> pieces;
    std::vector<List> waits;
  };
  const MemoryAccess reads{0, 8, false}, writes{0, 8, true}, elsewhere{8, 16, true},
      part{6, 10, true};
  const Case cases[] = {
      {"one stream", {{0, {writes}}, {0, {reads}}, {0, {writes}}}, {{}, {}, {}}},
      {"read after write", {{0, {writes}}, {1, {reads}}}, {{}, {0}}},
      {"write after read", {{0, {reads}}, {1, {writes}}}, {{}, {0}}},
      {"write after write", {{0, {writes}}, {1, {writes}}}, {{}, {0}}},
      {"both read", {{0, {reads}}, {1, {reads}}}, {{}, {}}},
      {"disjoint memory", {{0, {writes}}, {1, {elsewhere}}}, {{}, {}}},
      {"empty access", {{0, {writes}}, {1, {{4, 4, true}}}}, {{}, {}}},
      {"partial overlap", {{0, {writes}}, {1, {elsewhere}}, {2, {part}}}, {{}, {}, {1, 0}}},
      {"has already waited", {{0, {writes}}, {1, {reads}}, {1, {reads}}}, {{}, {0}, {}}},
      {"implied by another wait", {{0, {writes}}, {1, {writes}}, {2, {reads}}}, {{}, {0}, {1}}},
      {"waits for all readers", {{0, {reads}}, {1, {reads}}, {2, {writes}}}, {{}, {}, {1, 0}}},
      {"the thread has waited",
       {{0, {writes}}, {1, {reads}, true}, {0, {writes}}, {1, {writes}}},
       {{}, {0}, {}, {2}}},
  };
  for (auto c : cases) {
    CAPTURE(c.what);
    fill_waits(c.pieces, 3);
    for (std::size_t i = 0; i < c.pieces.size(); ++i) CHECK(c.pieces[i].waits == c.waits[i]);
  }
}

TEST_CASE("dependencies: random work has no races, and every wait is necessary") {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int n = 0; n < 100; ++n) {
    CAPTURE(n);
    const auto streams = 2 + below(3);
    std::vector<Piece> pieces(40);
    for (auto& piece : pieces) {
      piece.stream = below(streams);
      piece.finished = below(10) == 0;
      for (auto i = below(4); i > 0; --i) {
        const auto begin = static_cast<std::int64_t>(below(60));
        piece.accesses.push_back({begin, begin + below(12), below(2) == 0});
      }
    }
    fill_waits(pieces, streams);
    REQUIRE(race_in(pieces, order_of(pieces)) == "");
    std::size_t needless = 0, all = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      for (std::size_t wait = 0; wait < pieces[i].waits.size(); ++wait, ++all)
        if (race_in(pieces, order_of(pieces, i, wait)).empty()) ++needless;
    CHECK(needless == 0);
    CHECK(all > 0);
  }
}
