// Messages between host and worker, written and read sequentially.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenon::isolate {

/// The other side violated the protocol. `what()` can follow "its worker process violated the
/// protocol: ".
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t message_alignment = 8;

class Writer {
 public:
  /// Writes into `bytes`, which keeps its memory from message to message.
  explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) { bytes_.clear(); }

  template <class T>
  void put(const T& record) {
    put_array(&record, 1);
  }
  template <class T>
  void put_array(const T* records, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto begin = bytes_.size(), size = count * sizeof(T);
    bytes_.resize(begin + (size + message_alignment - 1) / message_alignment * message_alignment);
    if (size > 0) std::memcpy(bytes_.data() + begin, records, size);
  }
  void put_text(std::string_view text) { put_array(text.data(), text.size()); }

 private:
  std::vector<std::byte>& bytes_;
};

/// Never reads past the end. Throws ProtocolError if the message is truncated.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T take() {
    T record;
    std::memcpy(static_cast<void*>(&record), take_bytes(1, sizeof(T)).data(), sizeof(T));
    return record;
  }
  /// Returns a view into the message, which must be aligned to message_alignment.
  template <class T>
  std::span<const T> take_array(std::uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= message_alignment);
    const auto bytes = take_bytes(count, sizeof(T));
    return {reinterpret_cast<const T*>(bytes.data()), static_cast<std::size_t>(count)};
  }
  std::string_view take_text(std::uint64_t count) {
    const auto text = take_array<char>(count);
    return {text.data(), text.size()};
  }
  void expect_end() const {
    if (!left_.empty()) throw ProtocolError("a message has trailing bytes");
  }

 private:
  std::span<const std::byte> take_bytes(std::uint64_t count, std::size_t size) {
    if (count > left_.size() / size) throw ProtocolError("a message is truncated");
    const auto bytes = static_cast<std::size_t>(count) * size;
    const auto whole = (bytes + message_alignment - 1) / message_alignment * message_alignment;
    if (whole > left_.size()) throw ProtocolError("a message is truncated");
    const auto found = left_.first(bytes);
    left_ = left_.subspan(whole);
    return found;
  }

  std::span<const std::byte> left_;
};

}  // namespace tenon::isolate
