#include "file/tenon/checksums.hpp"

#include <doctest/doctest.h>

#include <random>

#include "file/tenon/layout.hpp"

using namespace tenon;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Random bytes in pieces of these sizes, with their checksums computed in one go.
struct Pieces {
  std::vector<std::byte> bytes;
  std::vector<Checked> checked;

  explicit Pieces(const std::vector<std::size_t>& sizes) {
    std::size_t total = 0;
    for (const auto size : sizes) total += size;
    bytes.resize(total);
    std::mt19937 random(1);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    std::size_t begin = 0;
    for (const auto size : sizes) {
      const auto piece = std::span<const std::byte>(bytes).subspan(begin, size);
      checked.push_back({piece, layout::checksum(piece)});
      begin += size;
    }
  }
};

}  // namespace

TEST_CASE("checksums: every bit counts, in pieces of any size") {
  const std::vector<std::vector<std::size_t>> all = {
      {},
      {0},
      {1},
      {240, 0, 241, 1024, 4095, 4096, 4097},
      {4 * mib - 1, 4 * mib, 4 * mib + 1, 9 * mib},
      {40 * mib + 3},
      {mib, mib, 30 * mib, mib, 5},
  };
  for (const auto& sizes : all) {
    Pieces pieces(sizes);
    CHECK(first_damaged(pieces.checked) == sizes.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
      if (sizes[i] == 0) continue;
      for (const auto place : {begin, begin + sizes[i] / 2, begin + sizes[i] - 1}) {
        CAPTURE(place);
        pieces.bytes[place] ^= std::byte{16};
        CHECK(first_damaged(pieces.checked) == i);
        pieces.bytes[place] ^= std::byte{16};
      }
    }
  }
}

TEST_CASE("checksums: the first of several damaged buffers is reported") {
  Pieces pieces(std::vector<std::size_t>(300, 100000));
  for (const auto i : {299U, 170U, 31U}) {
    pieces.checked[i].checksum ^= 1;
    CHECK(first_damaged(pieces.checked) == i);
  }
}
