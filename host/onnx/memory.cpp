#include "onnx/memory.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <random>

#include "io/counted.hpp"
#include "io/system_reason.hpp"

namespace tenon::onnx {

// The limit is 8 times the file size plus 64 MiB. What this budget does not hand out is left for
// the file itself and for memory that is not charged: function lists and the unused rest of the
// arena's last chunk.
Budget Budget::for_file(const std::filesystem::path& path, std::uint64_t file_size) {
  Budget budget(path);
  budget.left_ = std::uint64_t{48} << 20;
  budget.add(file_size);
  return budget;
}

void Budget::add(std::uint64_t bytes) {
  left_ += 6 * bytes;  // no file is large enough for this to overflow
}

void Budget::charge(std::uint64_t count, std::uint64_t size, const char* what) {
  std::uint64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes);
  if (overflow || bytes > left_)
    refuse_file(path_,
                "{} {} need {} of memory, but a file of this size may use only {} more: the file "
                "is damaged or malicious",
                count, what, overflow ? "more than 16 EiB" : readable_bytes(bytes),
                readable_bytes(left_));
  left_ -= bytes;
}

std::byte* Arena::take(std::size_t bytes) {
  constexpr auto alignment = alignof(std::max_align_t);
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (bytes > left_) {
    constexpr std::size_t first = std::size_t{1} << 14, max_size = std::size_t{1} << 20;
    const auto size = std::max(bytes, chunks_.empty() ? first : max_size);
    // left uninitialized: pages that are never touched use no physical memory
    chunks_.emplace_back(new std::byte[size]);
    next_ = chunks_.back().get();
    left_ = size;
  }
  std::byte* const taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

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
