// From messages to structs. Each message is walked through twice: first to count what repeats, then to read it into lists that are just
// long enough, so that nothing grows and all of it is charged before.
#pragma once
#include <array>
#include <utility>

#include "onnx/model.hpp"
#include "onnx/wire.hpp"

namespace tenon::onnx {

/// How often each field occurs in a message.
class FieldCounts {
 public:
  explicit FieldCounts(Wire wire) {
    while (wire.next()) ++counts_[wire.field() < counts_.size() ? wire.field() : 0];
  }
  std::size_t operator[](std::uint32_t field) const { return counts_[field]; }

 private:
  std::array<std::size_t, 32> counts_{};
};

/// A list while it is filled. A mapped file may be written to between counting and reading: then there are more or fewer than were counted.
template <class T>
class Filling {
 public:
  Filling(Arena& arena, const Wire& wire, std::size_t size, const char* what)
      : wire_(wire), what_(what), first_(arena.make<T>(size, what)), size_(size) {}
  T& next() {
    if (filled_ == size_) refuse();
    return first_[filled_++];
  }
  operator List<T>() const { return filled_ == size_ ? List<T>(first_, size_) : (refuse(), List<T>()); }

 private:
  [[noreturn]] void refuse() const { wire_.refuse("the number of its {} changed while the file was read", what_); }

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
  static constexpr int most_graphs = 32, most_types = 16;  // nested; protobuf's own readers stop at some 33 graphs

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
  int graphs_ = 0, types_ = 0;  // how deep
  bool in_function_ = false;
};

/// A name of ONNX's own domain is read as the empty one.
inline std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

/// The sizes multiplied; throws where one is negative or there are more elements than 64 bits count.
std::int64_t elements_of(const Wire& wire, List<std::int64_t> dims);

/// Messages that may be there once. Protobuf would merge several; nobody writes that.
template <class T>
const T* MessageReader::read_one(const Wire& wire, const T* before, const char* name, const char* kind) {
  if (before != nullptr) wire.refuse("it has two of the field {}", name);
  auto* const entry = arena_.make<T>(1, kind);
  read(wire.message(name, kind), *entry);
  return entry;
}

}  // namespace tenon::onnx
