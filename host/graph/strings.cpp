#include "graph/strings.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <random>

namespace tenon {
namespace {

constexpr std::size_t chunk_size = std::size_t{1} << 16;

// Seeded for each process, so a file cannot be crafted to make its strings collide.
std::uint32_t hash_of(std::string_view text) {
  static const std::uint64_t seed = std::random_device()();
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(text.data(), text.size(), seed));
}

}  // namespace

Strings::Strings() {
  grow(16);
  intern("");
}

// The copy shares the existing chunks, which never change; both tables then append to new ones.
Strings::Strings(const Strings& other)
    : texts_(other.texts_), slots_(other.slots_), chunks_(other.chunks_) {}

Strings& Strings::operator=(const Strings& other) {
  if (this != &other) *this = Strings(other);
  return *this;
}

// Returns the slot of the text, or the free slot where it belongs. Texts are compared only if all
// bits of the hash match.
std::size_t Strings::slot_of(std::string_view text, std::uint32_t hash) const {
  const auto mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const auto& slot = slots_[i];
    if (slot.id == free_slot || (slot.hash == hash && texts_[slot.id] == text)) return i;
  }
}

void Strings::grow(std::size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const auto& slot : old) {
    if (slot.id == free_slot) continue;
    auto i = slot.hash & (slots - 1);
    while (slots_[i].id != free_slot) i = (i + 1) & (slots - 1);
    slots_[i] = slot;
  }
}

void Strings::reserve(std::size_t count) {
  texts_.reserve(count);
  if (const auto slots = std::bit_ceil(2 * count); slots > slots_.size()) grow(slots);
}

std::string_view Strings::store(std::string_view text) {
  const auto size = text.size() + 1;
  if (size > free_bytes_) {
    free_bytes_ = std::max(size, chunk_size);
    end_ = chunks_.emplace_back(new char[free_bytes_]).get();
  }
  char* const start = end_;
  std::copy(text.begin(), text.end(), start);
  start[text.size()] = '\0';
  end_ += size;
  free_bytes_ -= size;
  return {start, text.size()};
}

StringId Strings::find(std::string_view text) const {
  return slots_.empty() ? free_slot : slots_[slot_of(text, hash_of(text))].id;
}

StringId Strings::intern(std::string_view text) {
  if (2 * (texts_.size() + 1) > slots_.size()) grow(std::max<std::size_t>(16, 2 * slots_.size()));
  const auto hash = hash_of(text);
  auto& slot = slots_[slot_of(text, hash)];
  if (slot.id == free_slot) {
    slot = {hash, static_cast<StringId>(texts_.size())};
    texts_.push_back(store(text));
  }
  return slot.id;
}

}  // namespace tenon
