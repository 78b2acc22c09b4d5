// The nodes' parameters, read one node after the other.
#pragma once
#include "file/reading.hpp"

namespace tenon {

class AttributeReader {
 public:
  AttributeReader(Reading& reading, const format::Graph& graph);

  /// The node's next attribute_count attributes.
  void read(const NodeRecord& node);
  /// Throws where something was left over.
  void finish() const;

 private:
  AttributeRecord read_one(const NodeRecord& node);
  std::int64_t integer(const NodeRecord& node);
  void read_scalar(const NodeRecord& node, AttributeRecord& attribute);
  void read_list(const NodeRecord& node, AttributeRecord& attribute);
  /// Reads a length, at most what is left of `total` after `next`.
  std::uint32_t length(const NodeRecord& node, std::uint32_t total, const std::uint32_t& next);
  [[noreturn]] void refuse_end(const NodeRecord& node, const char* what) const;

  template <class... Args>
  [[noreturn]] void refuse(const NodeRecord& node, const AttributeRecord& attribute, fmt::format_string<Args...> text,
                           Args&&... args) const {
    reading_.refuse("attribute '{}' of node '{}' {}", reading_.text(attribute.name), reading_.text(node.name),
                    fmt::format(text, std::forward<Args>(args)...));
  }

  Reading& reading_;
  const format::Attributes& from_;
  Column<std::uint32_t> names_;
  Column<format::AttributeKind> kinds_;
  std::uint32_t count_, next_ = 0, next_integer_ = 0, next_real_ = 0, round_ = 0;
  std::vector<std::uint32_t> seen_in_;  // of each text: the last node that had a parameter of this name, counted from 1
};

}  // namespace tenon
