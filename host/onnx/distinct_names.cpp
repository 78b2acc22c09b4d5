#include "onnx/distinct_names.hpp"

#include <xxhash.h>

#include <bit>
#include <random>

namespace tenon::onnx {
namespace {

// Seeded per process, so that no file can be crafted to make all its names collide.
std::uint64_t hash_of(std::string_view text) {
  static const std::uint64_t seed = std::random_device()();
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace

DistinctNames::DistinctNames(std::size_t max_names, Budget& budget) : budget_(budget) {
  const auto size = std::bit_ceil(2 * max_names + 1);
  budget_.charge(size, sizeof(std::string_view), "names");
  slots_.resize(size);
}

bool DistinctNames::add(std::string_view name) {
  const auto mask = slots_.size() - 1;
  for (auto i = hash_of(name) & mask;; i = (i + 1) & mask) {
    if (slots_[i].data() == nullptr)
      return slots_[i] = name.data() == nullptr ? std::string_view("") : name, true;
    if (slots_[i] == name) return false;
  }
}

}  // namespace tenon::onnx
