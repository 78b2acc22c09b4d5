// The numbers that values, tensors, operators, plugins, texts and types have in a file under construction: the order of first use.
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

/// Numbers things in the order in which they are first asked for.
class Numbering {
 public:
  explicit Numbering(std::size_t count) : numbers_(count, none) {}
  std::uint32_t operator()(std::uint32_t id);
  std::uint32_t at(std::uint32_t id) const { return numbers_[id]; }
  const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  std::vector<std::uint32_t> numbers_, order_;
};

/// What no node and no value uses has no number: it is left behind.
struct FileOrder {
  Numbering values;       // inputs as given, variables, constants, states, then the nodes' outputs
  std::size_t named = 0;  // how many of them no node makes
  Numbering tensors, operators, plugins;
  std::size_t weights = 0;  // how many of the tensors belong to values; those of a training follow
};

FileOrder file_order(const GraphModel& model);

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

class FileTypes {
 public:
  /// `names`: of the file's texts, for each dimension; mostly none.
  std::uint32_t operator()(const tenon_type& type, const std::vector<std::uint32_t>& names = {});
  const std::vector<tenon_type>& order() const { return order_; }
  const std::vector<std::uint32_t>& names_of(std::size_t number) const;

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;  // by the type's bytes
  std::vector<tenon_type> order_;
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> names_;
  std::uint32_t last_ = 0;  // neighbours are often of one type
};

}  // namespace tenon
