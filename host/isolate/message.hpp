// Messages between host and worker, written and read sequentially.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <stdexcept>
#include <tuple>
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

/// A message lists its fields once, for both sides: `static auto fields(auto& m)` returns a tie.
template <class T>
concept HasFields = requires(T& message) {
  T::fields(message);
};
/// std::span or std::string_view: a count, then the elements. Its reader refers to the message.
template <class T>
concept ViewField = std::ranges::view<T> && std::ranges::contiguous_range<T>;
/// std::vector: a count, then each element.
template <class T>
concept ListField = requires(T& list) {
  list.emplace_back();
};

/// Everything starts at a multiple of message_alignment.
class Writer {
 public:
  /// Writes into `bytes`, which keeps its memory from message to message.
  explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) { bytes_.clear(); }

  /// Writes a message, a view, a list, or a record as it is in memory.
  template <class T>
  void put(const T& value) {
    if constexpr (HasFields<const T>) {
      std::apply([&](const auto&... fields) { (put(fields), ...); }, T::fields(value));
    } else if constexpr (ViewField<T>) {
      put(std::uint64_t{value.size()});
      put_array(value.data(), value.size());
    } else if constexpr (ListField<T>) {
      put(std::uint64_t{value.size()});
      for (const auto& element : value) put(element);
    } else {
      put_array(&value, 1);
    }
  }

 private:
  template <class T>
  void put_array(const T* records, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto begin = bytes_.size(), size = count * sizeof(T);
    bytes_.resize(begin + (size + message_alignment - 1) / message_alignment * message_alignment);
    if (size > 0) std::memcpy(bytes_.data() + begin, records, size);
  }

  std::vector<std::byte>& bytes_;
};

/// Never reads past the end. Throws ProtocolError if the message is truncated.
class Reader {
 public:
  /// `bytes` must be aligned to message_alignment.
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  /// Reads what Writer::put() wrote. The bytes that are left bound each count.
  template <class T>
  void take(T& value) {
    if constexpr (HasFields<T>) {
      std::apply([&](auto&... fields) { (take(fields), ...); }, T::fields(value));
    } else if constexpr (ViewField<T>) {
      const auto elements = take_array<typename T::value_type>(take_array<std::uint64_t>(1)[0]);
      value = T(elements.data(), elements.size());
    } else if constexpr (ListField<T>) {
      for (auto count = take_array<std::uint64_t>(1)[0]; count > 0; --count)
        take(value.emplace_back());
    } else {
      value = take_array<T>(1)[0];
    }
  }
  void expect_end() const {
    if (!left_.empty()) throw ProtocolError("a message has trailing bytes");
  }

 private:
  template <class T>
  std::span<const T> take_array(std::uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= message_alignment);
    if (count > left_.size() / sizeof(T)) throw ProtocolError("a message is truncated");
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    const auto whole = (bytes + message_alignment - 1) / message_alignment * message_alignment;
    if (whole > left_.size()) throw ProtocolError("a message is truncated");
    const std::span array(reinterpret_cast<const T*>(left_.data()),
                          static_cast<std::size_t>(count));
    left_ = left_.subspan(whole);
    return array;
  }

  std::span<const std::byte> left_;
};

/// Reads one message. Throws ProtocolError if bytes are missing or left over.
template <class T>
T read_message(std::span<const std::byte> bytes) {
  T message{};
  Reader reader(bytes);
  reader.take(message);
  reader.expect_end();
  return message;
}

/// Returns the size of a message in bytes.
template <class T>
std::uint64_t bytes_of(const T& message) {
  std::vector<std::byte> bytes;
  Writer(bytes).put(message);
  return bytes.size();
}

}  // namespace tenon::isolate
