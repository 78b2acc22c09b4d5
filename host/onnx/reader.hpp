// Converts messages to structs. Each message is walked twice: first to count repeated fields, then
// to read them into lists of exactly that size, so that nothing grows and all memory is charged in
// advance.
#pragma once
#include <array>
#include <utility>

#include "onnx/model.hpp"
#include "onnx/wire.hpp"

namespace tenon::onnx {

/// The number of occurrences of each field in a message.
class FieldCounts {
 public:
  explicit FieldCounts(Wire wire) {
    while (wire.next()) ++counts_[wire.field() < counts_.size() ? wire.field() : 0];
  }
  std::size_t operator[](std::uint32_t field) const { return counts_[field]; }

 private:
  std::array<std::size_t, 32> counts_{};
};

/// A list being filled. A mapped file may be modified between counting and reading, so the number
/// of entries is checked again.
template <class T>
class Filling {
 public:
  Filling(Arena& arena, const Wire& wire, std::size_t size, const char* what)
      : wire_(wire), what_(what), first_(arena.make<T>(size, what)), size_(size) {}
  T& next() {
    if (filled_ == size_) refuse();
    return first_[filled_++];
  }
  operator List<T>() const {
    return filled_ == size_ ? List<T>(first_, size_) : (refuse(), List<T>());
  }

 private:
  [[noreturn]] void refuse() const {
    wire_.refuse("its number of {} changed while the file was read", what_);
  }

  const Wire& wire_;
  const char* what_;
  T* first_;
  std::size_t size_, filled_ = 0;
};

class MessageReader {
 public:
  explicit MessageReader(Arena& arena) : arena_(arena) {}

  void read(Wire wire, proto::Graph& graph);
  void read(Wire wire, proto::Function& function);
  void read(Wire wire, proto::OpsetImport& opset);
  void read(Wire wire, proto::Metadata& entry);

  template <class T>
  Filling<T> fill(const Wire& wire, std::size_t size, const char* what) {
    return {arena_, wire, size, what};
  }

 private:
  // limits on nesting; protobuf's own readers stop at about 33 graphs
  static constexpr int max_graphs = 32, max_types = 16;

  void read(Wire wire, proto::Node& node);
  void read(Wire wire, proto::Attribute& attribute);
  void read(Wire wire, proto::Tensor& tensor);
  void read(Wire wire, proto::SparseTensor& tensor);
  void read(Wire wire, proto::ValueInfo& value);
  void read(Wire wire, proto::Type& type);
  void read(Wire wire, proto::Dim& dim);

  template <class T>
  const T* read_one(const Wire& wire, const T* before, const char* name, const char* kind);
  void read_value(Wire& wire, proto::Attribute& attribute, std::size_t count);
  void read_tensor_type(Wire wire, proto::Type& type);
  void read_element(Wire wire, proto::Type& type);
  proto::External* read_external(Wire& wire, proto::External* external);
  void check(const Wire& wire, const proto::Attribute& attribute, std::uint32_t values) const;
  void check(const Wire& wire, const proto::Tensor& tensor, std::uint32_t typed) const;
  static void check_strings(const Wire& wire, const proto::Tensor& tensor, std::int64_t count);
  void check_names(const Wire& wire, const proto::Graph& graph);
  void check_names(const Wire& wire, const proto::Function& function);
  void check_names(const Wire& wire, List<proto::Attribute> attributes);

  Arena& arena_;
  int graphs_ = 0, types_ = 0;  // current nesting depths
  bool in_function_ = false;
};

/// Returns ONNX's default domain as the empty string.
inline std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

/// Product of the sizes; throws if one is negative or the product overflows 64 bits.
std::int64_t elements_of(const Wire& wire, List<std::int64_t> dims);

/// Reads a message that may occur once. Protobuf would merge repeated ones, but no exporter writes
/// them.
template <class T>
const T* MessageReader::read_one(const Wire& wire, const T* before, const char* name,
                                 const char* kind) {
  if (before != nullptr) wire.refuse("duplicate field {}", name);
  auto* const entry = arena_.make<T>(1, kind);
  read(wire.message(name, kind), *entry);
  return entry;
}

}  // namespace tenon::onnx
