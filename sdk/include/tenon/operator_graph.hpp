// Common base of Gradient and Compose: builds a graph of other operators. For the SDK; authors use
// gradient.hpp and compose.hpp.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "detail/attribute_layout.hpp"
#include "detail/index_or_name.hpp"
#include "detail/names.hpp"
#include "list.hpp"
#include "number_table.hpp"
#include "shape.hpp"
#include "text.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Adds nodes to a graph of the host, around one node. Nothing is computed here: values have no
/// elements. Each added node is checked immediately, and the types of its outputs are inferred as
/// far as possible, as by Graph::add of the host. Operators are looked up in the user's catalogue
/// when the function runs, so a plugin does not depend on the plugins whose operators it uses:
///
///     // the first output of a new node
///     auto product = c.add("matmul", {c.input("x"), c.input("weight")});
///     auto [largest, index] = c.add_outputs<2>("top", {product}, {{"k", 1}});  // several outputs
///     auto scaled = c.add("quadratic", {largest}, {{"b", 0.5}});  // with parameters
///     const int rank = c.type(product).shape.rank();  // if it is known
///
/// Values are passed in the order of the operator's describe(); weights must be passed, too. An
/// empty value omits an optional input ahead of other inputs. Nodes whose values are not used are
/// not computed.
///
/// Errors are thrown with the host's reason: a missing operator, an unknown parameter, types that
/// do not match, an input that is not connected. Threads: this object is used by one thread.
class OperatorGraph {
 protected:
  using Which = detail::IndexOrName;

 public:
  /// A tensor of the graph, without elements. It may be copied, and passed only to the object that
  /// returned it. A default-constructed one is empty: add() treats it as an omitted optional input;
  /// it is not accepted elsewhere.
  class Value {
   public:
    Value() = default;

   private:
    friend class OperatorGraph;
    explicit Value(tenon_value id) : id_(id) {}
    tenon_value id_ = TENON_NO_VALUE;  // the host's id of it
  };

  /// A parameter of an added node: {"axis", 1}, {"scale", 0.5}, {"mode", "mean"}, {"keepdims",
  /// true}, {"axes", axes} with Ints, Floats, Texts or a Table. An enum is passed as text, a number
  /// as any arithmetic type that fits the parameter. Names, texts and lists are borrowed until
  /// add() returns. Omitted parameters have the operator's defaults.
  class Attr {
   public:
    /// A bool.
    Attr(const char* name, bool value) : raw_(make(name, TENON_ATTR_BOOL)) { raw_.i = value; }
    /// A number, converted to int64 or double. Integers are accepted for floating parameters.
    template <class Number>
    requires std::is_arithmetic_v<Number> Attr(const char* name, Number value)
        : raw_(make(name, std::is_integral_v<Number> ? TENON_ATTR_INT : TENON_ATTR_FLOAT)) {
      if constexpr (std::is_integral_v<Number>) {
        raw_.i = static_cast<std::int64_t>(value);
      } else {
        raw_.f = static_cast<double>(value);
      }
    }
    /// A text, or the name of an enum value.
    Attr(const char* name, const char* text)
        : Attr(name, std::string_view(detail::OnlyName(text))) {}
    Attr(const char* name, std::nullptr_t) = delete;
    Attr(const char* name, std::string_view text) : raw_(make(name, TENON_ATTR_TEXT, text.size())) {
      raw_.text = text.data();
    }
    /// A list, usually a member of the operator's class.
    Attr(const char* name, const Ints& ints) : raw_(make(name, TENON_ATTR_INTS, ints.size())) {
      raw_.ints = ints.begin();
    }
    Attr(const char* name, const Floats& floats)
        : raw_(make(name, TENON_ATTR_FLOATS, floats.size())) {
      raw_.floats = floats.begin();
    }
    /// A list of texts, {"names", names} or {"names", tenon::Texts{"a", "b"}}. Error: a text that
    /// contains a zero byte.
    Attr(const char* name, const Texts& texts) : raw_(make(name, TENON_ATTR_TEXTS)), data_(&texts) {
      for (const Text& text : texts) {
        if (std::string_view(text).find('\0') != std::string_view::npos)
          fail(ErrorKind::parameter, {"parameter '", name, "' has a text with a zero byte"});
        raw_.count += text.size() + 1;
      }
    }
    /// A small tensor, {"taps", taps}, or a list of more than 32 numbers. The host copies its
    /// elements and converts them to the dtype of the parameter if that is lossless.
    template <class T>
    Attr(const char* name, const Table<T>& table)
        : raw_(make(name, TENON_ATTR_TENSOR, static_cast<std::size_t>(table.rank()))),
          data_(table.dims()) {
      raw_.i = static_cast<std::int64_t>(dtype_of<T>);
      raw_.text = reinterpret_cast<const char*>(table.begin());
    }

   private:
    friend class OperatorGraph;
    static tenon_attribute make(const char* name, tenon_attribute_kind kind,
                                std::size_t count = 0) {
      tenon_attribute raw{};
      if (!name)
        fail(ErrorKind::failed, {"a parameter of an added node has a null pointer as its name"});
      raw.name = name;
      raw.kind = static_cast<std::uint32_t>(kind);
      raw.count = count;
      return raw;
    }
    // TEXTS and TENSOR are laid out when the node is added. For TENSOR, i is the dtype, count the
    // rank and text the elements.
    tenon_attribute raw_;
    // Attr owns nothing, so that lists of them cost a plugin little code. The layout for the
    // boundary is freed when add() returns.
    const void* data_ = nullptr;  // TEXTS: the Texts; TENSOR: the dimensions
  };

  /// Indices and names are those of describe(); a variadic input takes one index for each of its
  /// tensors.
  int inputs() const { return static_cast<int>(raw_->input_count); }
  int outputs() const { return static_cast<int>(raw_->output_count); }
  /// An input of the node, as forward reads it. "data2" is the third tensor of a variadic input
  /// "data". Errors: no such input; an optional input that is not connected.
  Value input(Which input) {
    return value(TENON_GRADIENT_INPUT, find(names_->inputs, "input", input, inputs()));
  }
  /// Whether an optional input is connected; true for every required one, false for unknown names.
  bool has_input(Which input) const {
    return connected(TENON_GRADIENT_INPUT, input.in(names_->inputs, inputs()));
  }
  /// Dtype and shape of a value, as far as they are known: a graph may be built for any batch size.
  /// Nothing is known with hosts before 0.2.
  TensorType type(Value value) const {
    tenon_type found{};
    found.rank = -1, found.dtype = TENON_DTYPE_UNKNOWN;
    if (has_minor_1()) check(raw_->type(raw_, value.id_, &found));
    return {found.rank < 0 ? Shape() : Shape(found.dims, found.rank),
            static_cast<DType>(found.dtype)};
  }
  /// A tensor of zeros, or of ones, with the dtype and shape that another value has when the graph
  /// runs. Its elements are created then; the other value need not be kept in memory for it.
  Value zeros_like(Value like) { return add(own("tenon.fill_like"), {like}, {{"value", 0.0}}); }
  Value ones_like(Value like) { return add(own("tenon.fill_like"), {like}, {{"value", 1.0}}); }
  /// Sums a value over the axes along which another one broadcasts to its shape: the gradient of an
  /// input that was broadcast.
  Value sum_like(Value value, Value like) { return add(own("tenon.sum_like"), {value, like}); }

  /// Adds a node and returns its first output. Errors: the operator is missing or has no outputs;
  /// invalid parameters or inputs, including omitted weights.
  Value add(detail::OnlyName op, std::initializer_list<Value> inputs,
            std::initializer_list<Attr> attrs = {}) {
    return add(op, inputs.begin(), inputs.size(), attrs);
  }
  /// Adds a node with a number of inputs that is known only at run time, for an operator with a
  /// variadic input:
  ///
  ///     std::vector<tenon::Gradient::Value> parts;
  ///     for (int i = 0; i < g.outputs(); ++i) parts.push_back(g.output_grad(i));
  ///     g.set_input_grad(0, g.add("concat", parts.data(), parts.size(), {{"axis", axis}}));
  Value add(detail::OnlyName op, const Value* inputs, std::size_t count,
            std::initializer_list<Attr> attrs = {}) {
    static_assert(sizeof(Value) == sizeof(tenon_value));
    detail::AttributeLayout attributes(attrs.size());
    for (const Attr& attr : attrs) attributes.add(attr.raw_, attr.data_);
    tenon_value added = 0;
    check(raw_->add(raw_, std::string(std::string_view(op)).c_str(),
                    reinterpret_cast<const tenon_value*>(inputs), static_cast<std::uint32_t>(count),
                    attributes.data(), attributes.size(), &added));
    return Value(added);
  }
  /// Adds a node and returns its first `count` outputs, including hidden ones: auto [largest,
  /// index] = g.add_outputs<2>(...).
  /// Errors: those of add(); the node has fewer outputs; the host is older than 0.2.
  template <std::size_t count>
  std::array<Value, count> add_outputs(detail::OnlyName op, std::initializer_list<Value> inputs,
                                       std::initializer_list<Attr> attrs = {}) {
    std::array<Value, count> outputs;
    add_outputs(op, inputs.begin(), inputs.size(), outputs.data(), count, attrs);
    return outputs;
  }
  /// Like add_outputs() above, with numbers of inputs and outputs that are known only at run time:
  /// fills outputs[0 ... count).
  void add_outputs(detail::OnlyName op, const Value* inputs, std::size_t input_count,
                   Value* outputs, std::size_t count, std::initializer_list<Attr> attrs = {}) {
    if (!has_minor_1())
      throw Error("this Tenon supports only the first output of an added node: update Tenon");
    detail::AttributeLayout attributes(attrs.size());
    for (const Attr& attr : attrs) attributes.add(attr.raw_, attr.data_);
    std::uint32_t added = 0;
    check(raw_->add_all(raw_, std::string(std::string_view(op)).c_str(),
                        reinterpret_cast<const tenon_value*>(inputs),
                        static_cast<std::uint32_t>(input_count), attributes.data(),
                        attributes.size(), reinterpret_cast<tenon_value*>(outputs),
                        static_cast<std::uint32_t>(count), &added));
    if (added < count)
      throw Error("'", std::string_view(op), "' has ", added, " outputs, but ", count,
                  " are requested");
  }

 protected:
  OperatorGraph(tenon_gradient& raw, const detail::Names& names, const char* function)
      : raw_(&raw), names_(&names), function_(function) {}

  // Whether the host supports the functions of minor 1: connected, type and add_all. The struct of
  // a host with minor 0 ends before them.
  bool has_minor_1() const {
    return raw_->size >= offsetof(tenon_gradient, add_all) + sizeof raw_->add_all;
  }
  // Returns the full name of one of Tenon's operators, which is unambiguous. Hosts of minor 0 do
  // not know full names.
  std::string_view own(std::string_view full) const {
    return has_minor_1() ? full : full.substr(full.find('.') + 1);
  }
  // Queries the host. If the host is too old, an input is tried, and a gradient counts as
  // connected.
  bool connected(tenon_gradient_source source, int i) const {
    if (i < 0) return false;
    if (has_minor_1()) return raw_->connected(raw_, source, static_cast<std::uint32_t>(i)) != 0;
    tenon_value id = 0;
    return source == TENON_GRADIENT_OUTPUT_GRAD ||
           raw_->value(raw_, source, static_cast<std::uint32_t>(i), &id) == 0;
  }
  Value value(tenon_gradient_source source, int i) {
    tenon_value id = 0;
    check(raw_->value(raw_, source, static_cast<std::uint32_t>(i), &id));
    return Value(id);
  }
  // The host rejects an index that is out of range.
  int find(const detail::NameGroup& names, const char* what, Which which, int total) const {
    const int i = which.in(names, total);
    if (i < 0 && which.named())
      fail(ErrorKind::failed, {function_, " requests ", what, " '", which.name(),
                               "', but describe() names ", names.list()});
    return i;
  }
  void check(std::int32_t failed) const {  // the host has written its reason into the error
    if (!failed) return;
    const tenon_error* error = raw_->error;
    if (!error || !error->text)
      throw Error("the host rejected a step of ", function_, " without a reason");
    throw Error(static_cast<ErrorKind>(error->kind), std::string(error->text));
  }
  // The id of a value at the boundary.
  static tenon_value id_of(Value value) { return value.id_; }

  tenon_gradient* raw_;  // owned by the host, valid until the function returns
  const detail::Names* names_;
  const char* function_;  // for errors: "gradient()" or "forward()"
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
