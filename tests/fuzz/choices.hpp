// Decisions derived from bytes: equal bytes give equal decisions, and after the last byte all
// decisions are 0.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

class Choices {
 public:
  Choices(const std::uint8_t* bytes, std::size_t size) : left_(bytes, size) {}
  bool more() const { return !left_.empty(); }
  std::size_t below(std::size_t count) { return take<std::uint8_t>() % count; }
  template <class T>
  T take() {
    T value{};
    const auto count = std::min(sizeof value, left_.size());
    if (count > 0) std::memcpy(&value, left_.data(), count);
    left_ = left_.subspan(count);
    return value;
  }
  std::string text() {
    const auto requested = below(24);
    const auto count = std::min(requested, left_.size());
    std::string text(reinterpret_cast<const char*>(left_.data()), count);
    left_ = left_.subspan(count);
    return text;
  }
  template <class List>
  auto& of(List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::span<const std::uint8_t> left_;
};
