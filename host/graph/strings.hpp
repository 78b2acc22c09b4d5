// Every text of a graph, once.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tenon {

using StringId = std::uint32_t;

/// Text <-> number. Number 0 is the empty text. Views stay valid as long as the table, and a zero byte follows each.
class Strings {
 public:
  Strings();
  Strings(const Strings& other);
  Strings& operator=(const Strings& other);
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;
  ~Strings() = default;

  StringId intern(std::string_view text);
  /// 0xffffffff where the text is not here.
  StringId find(std::string_view text) const;
  std::string_view operator[](StringId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  void reserve(std::size_t count);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    StringId id = free_slot;
  };
  static constexpr StringId free_slot = 0xffffffff;

  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow(std::size_t slots);
  std::string_view keep(std::string_view text);

  std::vector<std::string_view> texts_;          // into chunks_
  std::vector<Slot> slots_;                      // open addressing; a power of two, at most half full
  std::vector<std::shared_ptr<char[]>> chunks_;  // never moved, so that views stay valid; copies share them
  char* end_ = nullptr;                          // of what is used in the last chunk, which only this table adds to
  std::size_t left_ = 0;
};

}  // namespace tenon
