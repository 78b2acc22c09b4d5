#include <fmt/format.h>

#include <cstring>

#include "cli/check/each_sample.hpp"

namespace tenon::cli {
namespace {

/// The first element that still holds what the memory was filled with, both times; -1 where there is none.
std::int64_t first_hole(const Tensor& one, std::uint8_t fill, const Tensor& other, std::uint8_t other_fill) {
  const auto size = size_of(one.dtype());
  const std::string before(size, static_cast<char>(fill)), other_before(size, static_cast<char>(other_fill));
  const auto *left = static_cast<const char*>(one.data()), *right = static_cast<const char*>(other.data());
  for (std::int64_t i = 0; i < one.size(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(left + at, before.data(), size) == 0 && std::memcmp(right + at, other_before.data(), size) == 0) return i;
  }
  return -1;
}

}  // namespace

Outcome check_coverage(const Subject& subject) {
  constexpr std::uint8_t fills[] = {0xc3, 0x5a};
  Threads threads(1);
  return each_sample(subject, SampleKind::ordinary, [&](const OperatorCall& call, const Sample& sample) {
    Trial one(call, sample, subject.seed, Placement::apart, fills[0]), other(call, sample, subject.seed, Placement::apart, fills[1]);
    one.run(threads);
    other.run(threads);
    for (std::size_t i = 0; i < one.outputs.size(); ++i)
      if (const auto hole = first_hole(one.outputs[i], fills[0], other.outputs[i], fills[1]); hole >= 0)
        return fmt::format("element {} of the {} of output {} is never written", hole, one.outputs[i].size(), i);
    return std::string();
  });
}

}  // namespace tenon::cli
