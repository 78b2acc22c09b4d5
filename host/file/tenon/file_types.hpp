// The types of a file under construction, each once, numbered in the order in which they are first used.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon {

class FileTypes {
 public:
  std::uint32_t operator()(const tenon_type& type);
  const std::vector<tenon_type>& order() const { return order_; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;  // by the type's bytes
  std::vector<tenon_type> order_;
  std::uint32_t last_ = 0;  // neighbours are often of one type
};

}  // namespace tenon
