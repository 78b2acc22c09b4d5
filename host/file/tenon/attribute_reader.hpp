// Parameters of nodes, or of an optimizer, read one owner after the other.
#pragma once
#include "file/tenon/read_context.hpp"

namespace tenon {

class AttributeReader {
 public:
  /// Whose attributes are read, for messages: node 'fc1'.
  struct Owner {
    const char* kind;
    std::string_view name;
  };

  /// `whose`: of whom the table is, for the message where there is none.
  AttributeReader(ReadContext& reading, const format::Attributes* attributes, const char* whose);

  /// The next `count` attributes, put at the end of the model's.
  void read(const Owner& owner, std::uint32_t count);
  std::uint32_t left() const { return count_ - next_; }
  /// Throws where something was left over.
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
  /// Reads a length, at most what is left of `total` after `next`.
  std::uint32_t length(const Owner& owner, std::uint32_t total, const std::uint32_t& next);
  [[noreturn]] void refuse_end(const Owner& owner, const char* what) const;

  template <class... Args>
  [[noreturn]] void refuse(const Owner& owner, const AttributeRecord& attribute, fmt::format_string<Args...> text, Args&&... args) const {
    reading_.refuse("attribute '{}' of {} '{}' {}", reading_.text(attribute.name), owner.kind, owner.name,
                    fmt::format(text, std::forward<Args>(args)...));
  }

  ReadContext& reading_;
  const format::Attributes& from_;
  Column<std::uint32_t> names_;
  Column<format::AttributeKind> kinds_;
  bool knows_parameters_;  // the file says that it has kinds of 0.2
  std::uint32_t count_, next_ = 0, next_integer_ = 0, next_real_ = 0, round_ = 0;
  std::vector<std::uint32_t> seen_in_;  // of each text: the last node that had a parameter of this name, counted from 1
};

}  // namespace tenon
