// Numbers values, tensors, operators, plugins, texts and types of a file that is being written, in
// order of first use.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/model.hpp"
#include "graph/strings.hpp"

namespace tenon {

/// Assigns numbers in the order of first use.
class Numbering {
 public:
  explicit Numbering(std::size_t count) : numbers_(count, none) {}
  std::uint32_t operator()(std::uint32_t id);
  std::uint32_t at(std::uint32_t id) const { return numbers_[id]; }
  const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  std::vector<std::uint32_t> numbers_, order_;
};

/// Tensors, operators and plugins that no value or node uses have no number and are not written.
struct FileOrder {
  Numbering values;       // inputs in their order, variables, constants, states, node outputs
  std::size_t named = 0;  // how many of them are not node outputs
  Numbering tensors, operators, plugins;
  std::size_t weights = 0;  // tensors of values; those of a training follow
};

FileOrder file_order(const GraphModel& model);

/// Does not own the texts; they must outlive this object.
class FileTexts {
 public:
  explicit FileTexts(const Strings& strings);
  std::uint32_t operator()(StringId id);  ///< for the model's own texts; hashed once
  std::uint32_t operator()(std::string_view text);
  const std::vector<std::string_view>& order() const { return order_; }

 private:
  static constexpr std::uint32_t unnumbered = 0xffffffff;
  const Strings& strings_;
  std::vector<std::uint32_t> seen_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::string_view> order_;
};

class FileTypes {
 public:
  /// `names`: for each dimension, an index into the file's texts; usually empty.
  std::uint32_t operator()(const tenon_type& type, const std::vector<std::uint32_t>& names = {});
  const std::vector<tenon_type>& order() const { return order_; }
  const std::vector<std::uint32_t>& names_of(std::size_t number) const;

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;  // by the type's bytes
  std::vector<tenon_type> order_;
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> names_;
  std::uint32_t last_ = 0;  // consecutive values often share a type
};

}  // namespace tenon
