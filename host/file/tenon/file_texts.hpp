// The texts of a file under construction, numbered in the order in which they are first used. Number 0 is the empty text.
#pragma once
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/strings.hpp"

namespace tenon {

/// The texts' bytes belong to others and must outlive this.
class FileTexts {
 public:
  explicit FileTexts(const Strings& strings);
  std::uint32_t operator()(StringId id);  ///< of the model's own texts: no hashing the second time
  std::uint32_t operator()(std::string_view text);
  const std::vector<std::string_view>& order() const { return order_; }

 private:
  static constexpr std::uint32_t unseen = 0xffffffff;
  const Strings& strings_;
  std::vector<std::uint32_t> seen_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::string_view> order_;
};

}  // namespace tenon
