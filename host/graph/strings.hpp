// Interned strings of a graph, and lists of strings joined into one, each followed by a zero byte,
// as used at the ABI boundary and in files.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

using StringId = std::uint32_t;

/// Maps strings to numbers and back. Number 0 is the empty string. Views are zero-terminated and
/// stay valid as long as the table.
class Strings {
 public:
  Strings();
  Strings(const Strings& other);
  Strings& operator=(const Strings& other);
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;
  ~Strings() = default;

  StringId intern(std::string_view text);
  /// Returns 0xffffffff if the text is not in the table.
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
  std::string_view store(std::string_view text);

  std::vector<std::string_view> texts_;  // into chunks_
  std::vector<Slot> slots_;              // open addressing; power of two, at most half full
  std::vector<std::shared_ptr<char[]>>
      chunks_;  // never moved, so views stay valid; shared with copies
  // end of the used part of the last chunk, to which only this table appends
  char* end_ = nullptr;
  std::size_t free_bytes_ = 0;
};

/// The strings must not contain zero bytes.
inline std::string joined_texts(const std::vector<std::string>& texts) {
  std::string joined;
  for (const auto& text : texts) joined.append(text).push_back('\0');
  return joined;
}

/// Whether the text is empty or ends with a zero byte.
inline bool are_joined_texts(std::string_view joined) {
  return joined.empty() || joined.back() == '\0';
}

/// Inverse of joined_texts(). Requires are_joined_texts().
inline std::vector<std::string> split_texts(std::string_view joined) {
  std::vector<std::string> texts;
  for (; !joined.empty(); joined.remove_prefix(texts.back().size() + 1))
    texts.emplace_back(joined.substr(0, joined.find('\0')));
  return texts;
}

}  // namespace tenon
