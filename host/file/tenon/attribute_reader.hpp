// Reads the parameters of nodes, or of an optimizer, owner by owner.
#pragma once
#include "file/tenon/read_context.hpp"

namespace tenon {

class AttributeReader {
 public:
  /// The owner of the attributes, for messages: node 'fc1'.
  struct Owner {
    const char* kind;
    std::string_view name;
  };

  /// `owner` names the table's owner in the message for a missing table.
  AttributeReader(ReadContext& reading, const format::Attributes* attributes, const char* owner);

  /// Reads the next `count` attributes and appends them to the model's.
  void read(const Owner& owner, std::uint32_t count);
  std::uint32_t left() const { return count_ - next_; }
  /// Throws if attributes are left over.
  void finish() const;

 private:
  AttributeRecord read_one(const Owner& owner);
  std::int64_t integer(const Owner& owner);
  double real(const Owner& owner);
  void read_scalar(const Owner& owner, AttributeRecord& attribute);
  void read_list(const Owner& owner, AttributeRecord& attribute);
  void read_table(const Owner& owner, AttributeRecord& attribute);
  Shape read_shape(const Owner& owner, const AttributeRecord& attribute);
  template <class T>
  void read_elements(const Owner& owner, const AttributeRecord& attribute, std::span<T> elements);
  /// Reads a length that must not exceed total - next.
  std::uint32_t length(const Owner& owner, std::uint32_t total, const std::uint32_t& next);
  [[noreturn]] void refuse_end(const Owner& owner, const char* what) const;

  template <class... Args>
  [[noreturn]] void refuse(const Owner& owner, const AttributeRecord& attribute,
                           fmt::format_string<Args...> text, Args&&... args) const {
    reading_.refuse("attribute '{}' of {} '{}' {}", reading_.text(attribute.name), owner.kind,
                    owner.name, fmt::format(text, std::forward<Args>(args)...));
  }

  ReadContext& reading_;
  const format::Attributes& from_;
  Column<std::uint32_t> names_;
  Column<format::AttributeKind> kinds_;
  bool has_parameters_feature_;  // the file declares the 0.2 kinds
  std::uint32_t count_, next_ = 0, next_integer_ = 0, next_real_ = 0, round_ = 0;
  std::vector<std::uint32_t> seen_in_;  // by name: the last owner (counted from 1) that had it
};

}  // namespace tenon
