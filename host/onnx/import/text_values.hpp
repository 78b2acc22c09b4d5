// Texts of a model: a graph holds them as indices into lists of names.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/model.hpp"

namespace tenon::onnx {

/// The texts that a value can hold, which become its categories. Grows while nodes are imported:
/// an encoder adds its keys, a classifier its labels. Indices never change.
class TextNames {
 public:
  /// Adds the text if it is new.
  std::int64_t index_of(std::string_view text);
  std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }
  bool empty() const { return names_.empty(); }

 private:
  std::deque<std::string> names_;  // whose addresses do not change
  std::unordered_map<std::string_view, std::int64_t> indices_;
};
using SharedNames = std::shared_ptr<TextNames>;

/// Whether the node moves elements of its inputs without looking at them, so that its outputs have
/// the names of its inputs.
bool moves_texts(const proto::Node& node);
/// Whether the node looks up texts.
bool reads_texts(const proto::Node& node);
/// Whether the node's attributes have texts that are values of its inputs or outputs.
bool has_texts(const proto::Node& node);

/// Whether the graph has inputs, initializers or attributes that are texts.
bool has_texts(const proto::Graph& graph);

/// The strings of a tensor of strings.
std::vector<std::string_view> strings_of(const Model& model, const proto::Tensor& tensor);

/// Lists of names for a graph's values. Values between which nodes move elements share a list.
class TextValues {
 public:
  TextValues() = default;
  explicit TextValues(const proto::Graph& graph);
  /// Returns the same list for each call with this name.
  SharedNames names_of(std::string_view value);

 private:
  std::size_t set_of(std::string_view value);
  std::size_t root_of(std::size_t set);

  std::unordered_map<std::string_view, std::size_t> sets_;
  std::vector<std::size_t> parents_;  // union-find
  std::unordered_map<std::size_t, SharedNames> names_;
};

}  // namespace tenon::onnx
