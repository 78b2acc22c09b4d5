// Index arithmetic without divisions, compared with / and %, up to the largest numbers.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <tenon/gpu/row_major.hpp>
#include <type_traits>
#include <vector>

using tenon::gpu::Divisor, tenon::gpu::RowMajor;
using Numbers = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

/// Numbers next to multiples of d, for which a wrong multiplier fails.
Numbers dividends(std::int64_t d) {
  Numbers all{0, 1, most / 2, most - 1, most};
  for (const std::int64_t times :
       {std::int64_t{1}, std::int64_t{2}, most / d / 2, most / d - 1, most / d})
    for (const std::int64_t beside : {-1, 0, 1})
      if (const auto n = times * d + beside; n >= 0 && n <= most) all.push_back(n);
  return all;
}

struct Found {
  Numbers places;
  bool narrow = false;
};

Found places_of(const RowMajor& points, std::int64_t i) {
  Found found{Numbers(static_cast<std::size_t>(points.rank())), true};
  points.each_coordinate(i, [&](int axis, auto place) {
    found.places[static_cast<std::size_t>(axis)] = place;
    found.narrow = std::is_same_v<decltype(place), std::int32_t>;
  });
  return found;
}

std::int64_t offset_of(const RowMajor& points, const Numbers& strides, std::int64_t i) {
  std::int64_t offset[2] = {0, 100};
  points.add_offsets(offset, i, [&](int k, int axis) {
    return k == 0 ? strides[static_cast<std::size_t>(axis)] : 0;
  });
  CHECK(offset[1] == 100);
  return offset[0];
}

}  // namespace

TEST_CASE("a divisor divides like / and %") {
  Numbers divisors{1,        2,        3,    5,      6,      7,         9,        10,
                   11,       641,      1000, 65'535, 65'537, 1'000'003, most / 2, most / 2 + 2,
                   most - 2, most - 1, most};
  for (int bit = 2; bit < 31; ++bit)
    for (const std::int64_t beside : {-1, 0, 1})
      divisors.push_back((std::int64_t{1} << bit) + beside);
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i)
    divisors.push_back(1 + static_cast<std::int64_t>(random() >> 33 >> random() % 31) % most);
  int wrong = 0;
  for (const auto d : divisors)
    for (const auto n : dividends(d)) {
      const auto narrow = Divisor(d).divide(static_cast<std::int32_t>(n));
      const auto wide = Divisor(d).divide(n << 31 | 5);
      const bool right = narrow.quotient == n / d && narrow.rest == n % d &&
                         wide.quotient == (n << 31 | 5) / d && wide.rest == (n << 31 | 5) % d;
      if (!right && wrong++ == 0)
        CHECK_MESSAGE(false, n, " / ", d, " became ", narrow.quotient, " rest ", narrow.rest);
    }
  CHECK(wrong == 0);
}

TEST_CASE("a divisor beyond int32, and that of an empty axis") {
  for (const std::int64_t d : {most + 1, most + 2, std::int64_t{1} << 40}) {
    CHECK(Divisor(d).divide(std::int32_t{0x7fffffff}).quotient == 0);
    CHECK(Divisor(d).divide(d * 3 + 1).quotient == 3);
    CHECK(Divisor(d).divide(d * 3 + 1).rest == 1);
  }
  for (const std::int64_t d : {0, -5}) CHECK(Divisor(d).number() == 1);
  CHECK(Divisor().divide(std::int32_t{7}).quotient == 7);
  CHECK(Divisor().divide(std::int32_t{7}).rest == 0);
}

TEST_CASE("points are at the offsets of row-major order, computed in either type") {
  for (const Numbers& sizes : {Numbers{}, Numbers{1}, Numbers{7}, Numbers{2, 3}, Numbers{4, 1, 5},
                               Numbers{2, 3, 1, 2, 2, 1, 3, 2}}) {
    RowMajor narrow;
    for (const auto size : sizes) narrow.push(size);
    RowMajor wide = narrow;
    wide.count_in_int64();
    Numbers place(sizes.size()), strides(sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      strides[axis] = axis % 2 == 0 ? -7 - static_cast<std::int64_t>(axis) : 0;
    for (std::int64_t i = 0; i < narrow.count(); ++i) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) offset += place[axis] * strides[axis];
      for (const auto* points : {&narrow, &wide}) {
        const auto found = places_of(*points, i);
        CHECK(found.places == place);
        if (points->rank() > 0) CHECK(found.narrow == (points == &narrow));
        CHECK(offset_of(*points, strides, i) == offset);
      }
      for (auto axis = sizes.size(); axis-- > 0;) {
        if (++place[axis] < sizes[axis]) break;
        place[axis] = 0;
      }
    }
  }
}

TEST_CASE("points use int32_t as long as their numbers and offsets fit") {
  const struct {
    Numbers sizes, strides;
    bool narrow;
  } cases[] = {
      {{most}, {1}, true},
      {{most}, {2}, false},
      {{most + 1}, {0}, false},
      {{1 << 16, 1 << 15}, {0, 0}, false},
      {{1 << 16, (1 << 15) - 1}, {0, 0}, true},
      {{2, 2}, {most, 0}, true},
      {{2, 2}, {most, 1}, false},
      {{2, 2}, {-most, -1}, false},
      {{2, 2}, {most + 1, 0}, false},
      {{1, 2}, {most + 1, 1}, true},
  };
  for (const auto& test : cases) {
    RowMajor points;
    for (const auto size : test.sizes) points.push(size);
    points.fit(test.strides.data());
    CAPTURE(test.sizes[0]);
    CAPTURE(test.strides[0]);
    CHECK(places_of(points, 0).narrow == test.narrow);
  }
  RowMajor large;  // 2^40 points of 2^42 bytes
  for (const std::int64_t size : {1 << 20, 1 << 20}) large.push(size);
  const Numbers strides{std::int64_t{1} << 22, 4};
  large.fit(strides.data());
  CHECK(offset_of(large, strides, large.count() - 1) == 4 * (large.count() - 1));
  CHECK(places_of(large, (std::int64_t{1} << 39) + 17).places == Numbers{1 << 19, 17});
}

TEST_CASE("contiguous axes are merged") {
  RowMajor joined;
  joined.push(3);
  joined.push(4);
  joined.extend(5);
  CHECK(joined.rank() == 2);
  CHECK(joined.count() == 60);
  CHECK(joined.size(1) == 20);
  CHECK(places_of(joined, 47).places == Numbers{2, 7});
  joined.push(0);
  CHECK(joined.count() == 0);
}
