// The manifest: an operator's description as CBOR, created at compile time, so that Tenon and other
// tools can read it from the file without running the plugin. It is the content of the symbol
// tenon_op_v1__NAME, whose size is the manifest's. A single map with these keys, in this order:
//
//     tenon             version of this format: 1, or 2 if there are needs
//     name, doc         text
//     version           integer, at least 1; files store it next to the parameters
//     aliases           array of text
//     types             array of dtypes by name ("float32"): the shared dtypes of the inputs
//                       without types of their own
//     inputs            array of {name, doc, optional, variadic, types: null or dtypes of its own,
//                       initial: null or number, weight}
//     outputs           array of {name, doc, hidden, count: null or the name of a parameter}
//     states            array of {name, doc, initial: number}
//     params            array of {name, doc, kind, default, required, min, max, above, below,
//                       choices}, of kind tensor also {dtype}
//     inplace           array of [input, output]
//     backward_inplace  array of [output, input]
//     backward_reads    null (everything), or array of inputs and outputs
//     accumulates, strides, random, elementwise, kernels_elsewhere: true or false
//     functions         array of forward, forward_sparse, backward, backward_sparse, gradient,
//                       infer_storage, compose: those of the class
//     renamed           array of [version, from, to]
//     added             array of [version, parameter]
//
// and, since SDK 0.2, if the operator declares them:
//
//     outputs           also {allocated: true} for those whose shape the kernel determines with
//                       call.allocate
//     space             text: the full name is space.name; without it, the plugin's name is the
//                       prefix
//     conditions        array of {of, names, param, values}: the declaration of these names under
//                       the key `of` (backward_reads, inplace, backward_inplace, linear, hidden)
//                       holds while the parameter has one of the values. backward_reads lists what
//                       is read under any condition, the other keys only what always holds
//     rules             array of [parameter, relation, parameter]; relations: same_length,
//                       less_than, at_most, greater_than, at_least, multiple_of
//     rewrites          array of {name, pattern, replacement, exact}: rewrite rules, see op.rule()
//     onnx              array of forms, the equivalent ONNX operators, see op.onnx(): {domain,
//                       type, since} and, if set, until, types, inputs: array of names, outputs:
//                       array of names, attributes: array of [attribute, parameter] or [attribute,
//                       parameter, ONNX's default], values: array of [parameter, ONNX's, ours],
//                       inputs_as: array of [parameter, index] or [parameter, index, ONNX's
//                       default], halves: array of [attribute or index, parameter, parameter],
//                       constants: array of [parameter, value], without: array of [input,
//                       parameter, value], only: array of [attribute, value], ignored: array of
//                       attributes. A reader skips a form with other keys
//     examples          array of {inputs: {name: {shape, dtype: null or name, values: null or
//                       array}}, params: {name: value}}
//     linear            array of terms of the output, each an array of one or two inputs in which
//                       it is linear
//     derivative        true: nodes may have the attribute `derivative`, the input by which to
//                       differentiate the operator
//     channels_last     array of the inputs and outputs that may be channels-last, all or none of
//                       them
//     prefers_channels_last  true: the kernel is faster with that layout
//     surrogate_gradient  true: the gradient is deliberately not the derivative of forward
//     communicates      true: kernels wait for other processes
//     added_inputs, added_outputs, added_states  array of [version, name]; each comes after those
//                                                of older versions
//     removed           array of [version, parameter], which older files may have with any value,
//                       or [version, parameter, value]: only with that value
//     was               array of [parameter, value]: the value of a parameter of `added` in older
//                       files
//     needs             array of features that a host must support; a host that lacks one rejects
//                       the operator. allocate: outputs whose shape the kernel determines;
//                       communicate: ordering among operators that wait for other processes;
//                       compose: graphs of other operators; dtypes: those of 0.2; parameters: the
//                       kinds texts and tensor; was: the key
//
// A node with anything that a form does not cover is rejected, so a reader must not ignore unknown
// keys of a form.
//
// The form op.onnx("", "ReduceSum").since(13).input_as("axis", 1).attribute("keepdims", "keepdims",
// 1) is, in CBOR's diagnostic notation,
//
//     {"domain": "", "type": "ReduceSum", "since": 13,
//      "attributes": [["keepdims", "keepdims", 1]], "inputs_as": [["axis", 1]]}
//
// A parameter's kind is bool, int32, int64, float32, float64, text, ints, floats or enum, and since
// 0.2 also texts or tensor; its default has the same type, that of an enum is a name and that of a
// tensor a list of numbers. Bounds are null or a number, choices is empty if there is no one_of.
// The host checks everything and rejects unknown versions.
//
// An operator with a condition, a rule and an example, such as a pooling operator, adds
//
//     "conditions": [{"of": "backward_reads", "names": ["output"],
//                     "param": "kind", "values": ["max"]}],
//     "rules": [["stride", "same_length", "kernel"]],
//     "examples": [{"inputs": {"data": {"shape": [2, 4, 6, 6], "dtype": null, "values": null}},
//                   "params": {"kernel": [3, 3]}}]
//
// Other keys are always present, and lists may be empty. A tool finds the manifests of a plugin as
// the symbols tenon_op_v1__... in the section .tenon_ops, each as long as its symbol's size
// (`readelf --symbols --wide my_operator.so`). The manifest of the operator cosine in the SDK's
// README has 582 bytes, which are in CBOR's diagnostic notation
//
//     {"tenon": 1, "name": "cosine", "doc": "scale * cos(x), element by element", "version": 1,
//      "aliases": [],
//      "types": ["float16", "bfloat16", "float32", "float64"],
//      "inputs": [{"name": "x", "doc": "angles in radians", "optional": false, "variadic": false,
//                  "types": null, "initial": null,
//                   "weight": false}],
//      "outputs": [{"name": "y", "doc": "same shape as x", "hidden": false, "count": null}],
//      "states": [],
//      "params": [{"name": "scale", "doc": "multiplier", "kind": "float32", "default": 1.0,
//                  "required": false,
//                  "min": null, "max": null, "above": 0.0, "below": null, "choices": []}],
//      "inplace": [["x", "y"]], "backward_inplace": [["y", "x"]], "backward_reads": ["x"],
//      "accumulates": true, "strides": true, "random": false, "elementwise": true,
//      "kernels_elsewhere": false,
//      "functions": ["forward", "forward_sparse", "backward", "backward_sparse", "infer_storage"],
//      "renamed": [], "added": []}
//
// min, max, above and below are the limits of .at_least, .at_most, .greater_than and .less_than.
// Bounds and defaults of integers are integers; those of floats are 64-bit floats, so the default
// 0.1f of a float32 parameter reads as 0.10000000149011612. An output's count names an integer
// parameter, whose value is the number of the node's outputs of that name.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "../dtype.hpp"
#include "../version.hpp"
#include "cbor.hpp"
#include "checks.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The functions that a class has, by their names in the manifest.
struct FunctionNames {
  const char* names[8] = {};
  std::size_t size = 0;
};

/// For a class that passed its checks. infer and workspace are not listed, because they are not
/// needed before the plugin is loaded.
template <class C>
constexpr FunctionNames functions_of() {
  using M = Members<C>;
  const bool defined[] = {M::forward,  M::forward_sparse, M::backward, M::backward_sparse,
                          M::gradient, M::infer_storage,  M::compose};
  const char* const all[] = {"forward",  "forward_sparse", "backward", "backward_sparse",
                             "gradient", "infer_storage",  "compose"};
  FunctionNames functions;
  for (int i = 0; i < 7; ++i)
    if (defined[i]) functions.names[functions.size++] = all[i];
  return functions;
}

/// Features that a host must support for the operator, beyond minor 0.
constexpr FunctionNames needs_of(const Description& d, const FunctionNames& functions) {
  Types types = d.types;
  for (const InputEntry& input : d.inputs)
    if (input.types.has_value) types = types + input.types.value;
  FunctionNames needs;
  for (const DTypeFeature& feature : dtype_features)
    if ((types.mask & feature.types.mask) != 0) needs.names[needs.size++] = feature.name;
  if (d.allocates()) needs.names[needs.size++] = "allocate";
  if (d.communicates) needs.names[needs.size++] = "communicate";
  for (std::size_t i = 0; i < functions.size; ++i)
    if (std::string_view(functions.names[i]) == "compose") needs.names[needs.size++] = "compose";
  for (const ParamEntry& param : d.params)
    if (param.kind == Kind::texts || param.kind == Kind::tensor) {
      needs.names[needs.size++] = "parameters";
      break;
    }
  if (d.was.size > 0) needs.names[needs.size++] = "was";
  return needs;
}

/// Writes a whole manifest. Keys and their order are part of the format, including those that
/// Description and its entries list: equal descriptions give equal bytes with every compiler. Bytes
/// is ByteCounter or ByteWriter (cbor.hpp).
///
/// Example: the size in bytes.
///
///     ByteCounter counter;
///     // counter.size is 582
///     ManifestWriter(counter, description_of<Cosine>).write("cosine", functions_of<Cosine>());
template <class Bytes>
class ManifestWriter {
 public:
  constexpr ManifestWriter(Bytes& bytes, const Description& description)
      : out_(bytes), d_(&description) {}

  /// `name`: the operator's name, from TENON_OPERATOR.
  constexpr void write(std::string_view name, const FunctionNames& functions) {
    const FunctionNames needs = needs_of(*d_, functions);
    map([&](auto&& key) {
      key("tenon", needs.size > 0 ? 2 : 1), key("name", name);
      d_->each_key(functions, key);
      if (needs.size > 0) key("needs", needs);
    });
  }

 private:
  /// keys(key) calls key(name, value) for each entry: once to count them, and once to write them.
  template <class Keys>
  constexpr void map(Keys&& keys) {
    std::size_t count = 0;
    keys([&](std::string_view, const auto&) { ++count; });
    out_.map(count);
    keys([&](std::string_view name, const auto& member) { out_.text(name), value(member); });
  }
  template <class Entry>
  constexpr void entry(const Entry& entry) {
    map([&](auto&& key) { entry.each_key(key); });
  }
  constexpr void value(const InputEntry& input) { entry(input); }
  constexpr void value(const OutputEntry& output) { entry(output); }
  constexpr void value(const StateEntry& state) { entry(state); }
  constexpr void value(const ParamEntry& param) { entry(param); }

  // The C++ type of a value determines how it is written.
  constexpr void value(std::string_view text) { out_.text(text); }
  constexpr void value(const char* text) { out_.text(text); }
  constexpr void value(bool flag) { out_.boolean(flag); }
  constexpr void value(std::int64_t number) { out_.integer(number); }
  constexpr void value(int number) { out_.integer(number); }
  constexpr void value(double number) { out_.number(number); }
  template <class T>
  constexpr void value(const Maybe<T>& maybe) {
    maybe.has_value ? value(maybe.value) : out_.null();
  }
  template <class T, int N>
  constexpr void value(const Fixed<T, N>& list) {
    out_.array(static_cast<std::size_t>(list.size));
    for (const T& item : list) value(item);
  }
  constexpr void value(const FunctionNames& functions) {
    out_.array(functions.size);
    for (std::size_t i = 0; i < functions.size; ++i) out_.text(functions.names[i]);
  }
  // By name, in the order of the C boundary's numbers.
  constexpr void value(Types types) {
    std::size_t count = 0;
    for (int i = 0; i < dtype_count; ++i) count += types.has(static_cast<DType>(i));
    out_.array(count);
    for (int i = 0; i < dtype_count; ++i)
      if (types.has(static_cast<DType>(i))) out_.text(name_of(static_cast<DType>(i)));
  }
  // One name, or a pair.
  constexpr void value(const NameList& list) {
    out_.array(*list.names[1] ? 2 : 1);
    for (const char* name : list.names)
      if (*name) value(name);
  }
  constexpr void value(const TermsOf& of) {
    out_.array(static_cast<std::size_t>(of.terms.size));
    for (const NamePair& term : of.terms) value(NameList{{term.first, term.second}});
  }
  constexpr void value(const ConditionEntry& condition) { entry(condition); }
  constexpr void value(const RewriteEntry& rule) { entry(rule); }
  constexpr void value(const RuleEntry& rule) {
    out_.array(3), value(rule.left), value(rule.relation), value(rule.right);
  }
  // Omits entries that are not set, so that a form with few entries takes few bytes.
  constexpr void value(const OnnxForms& forms) {
    out_.array(static_cast<std::size_t>(forms.count));
    for (int form = 0; form < forms.count; ++form) {
      map([&](auto&& key) {
        const OnnxEntry& entry = d_->onnx[form];
        key("domain", entry.domain), key("type", entry.type), key("since", entry.since);
        if (entry.until.has_value) key("until", entry.until);
        if (entry.types.has_value) key("types", entry.types);
        constexpr const char* names[] = {"inputs", "outputs",   "attributes", "values", "inputs_as",
                                         "halves", "constants", "without",    "only",   "ignored"};
        for (int kind = 0; kind < 10; ++kind)
          if (const OnnxMappingsOf mappings{form, static_cast<OnnxMappingKind>(kind)};
              count_of(mappings) > 0)
            key(names[kind], mappings);
      });
    }
  }
  // The entries of one form are among those of all forms, in the author's order.
  constexpr std::size_t count_of(const OnnxMappingsOf& of) const {
    std::size_t count = 0;
    for (const OnnxMapping& mapping : d_->onnx_mappings)
      count += mapping.form == of.form && mapping.kind == of.kind;
    return count;
  }
  constexpr void value(const OnnxMappingsOf& of) {
    out_.array(count_of(of));
    for (const OnnxMapping& mapping : d_->onnx_mappings)
      if (mapping.form == of.form && mapping.kind == of.kind) value(mapping);
  }
  // Writes a list whose first items identify the entry and whose last items are its values, or only
  // a name if there are no values. Halves begin with the attribute's name, or with the index of the
  // input. Readers detect an absent default by the length of the list.
  constexpr void value(const OnnxMapping& mapping) {
    const auto list = [&](const auto&... items) {
      out_.array(sizeof...(items)), (value(items), ...);
    };
    switch (mapping.kind) {
      case OnnxMappingKind::input:
      case OnnxMappingKind::output:
      case OnnxMappingKind::ignore:
        return value(mapping.name);
      case OnnxMappingKind::attribute:
        return mapping.has_value ? list(mapping.name, mapping.param, mapping.onnx_value)
                                 : list(mapping.name, mapping.param);
      case OnnxMappingKind::value:
        return list(mapping.param, mapping.onnx_value, mapping.tenon_value);
      case OnnxMappingKind::input_as:
        return mapping.has_value ? list(mapping.param, mapping.index, mapping.onnx_value)
                                 : list(mapping.param, mapping.index);
      case OnnxMappingKind::halves:
        return mapping.index < 0 ? list(mapping.name, mapping.param, mapping.second)
                                 : list(mapping.index, mapping.param, mapping.second);
      case OnnxMappingKind::constant:
        return list(mapping.param, mapping.tenon_value);
      case OnnxMappingKind::without:
        return list(mapping.name, mapping.param, mapping.tenon_value);
      case OnnxMappingKind::only:
        return list(mapping.name, mapping.onnx_value);
    }
  }
  // Writes the literal as the author wrote it; the host compares it with the parameter's kind.
  constexpr void value(const LiteralEntry& literal) {
    switch (literal.type) {
      case LiteralEntry::Type::boolean:
        return value(literal.integer != 0);
      case LiteralEntry::Type::integer:
        return value(literal.integer);
      case LiteralEntry::Type::number:
        return value(literal.number);
      case LiteralEntry::Type::text:
        return value(literal.text);
      case LiteralEntry::Type::list:
        return pool(d_->literals, literal.first, literal.count);
      case LiteralEntry::Type::numbers:
        return pool(d_->example_values, literal.first, literal.count);
      case LiteralEntry::Type::texts:
        return pool(d_->texts, literal.first, literal.count);
    }
  }
  // Writes a range of one of the description's pools as an array.
  template <class Pool>
  constexpr void pool(const Pool& pool, int first, int count) {
    out_.array(static_cast<std::size_t>(count));
    for (int i = first; i < first + count; ++i) value(pool[i]);
  }
  // Writes maps by name, because an example specifies only what matters.
  constexpr void value(const ExampleEntry& example) {
    out_.map(2), out_.text("inputs"), out_.map(static_cast<std::size_t>(example.tensors));
    for (int i = example.first_tensor; i < example.first_tensor + example.tensors; ++i) {
      const ExampleTensor& tensor = d_->example_tensors[i];
      out_.text(tensor.name), out_.map(3);
      out_.text("shape"), pool(d_->literals, tensor.first_dim, tensor.dims);
      out_.text("dtype"), tensor.dtype.has_value ? value(name_of(tensor.dtype.value)) : out_.null();
      out_.text("values"), tensor.values > 0
                               ? pool(d_->example_values, tensor.first_value, tensor.values)
                               : out_.null();
    }
    out_.text("params"), out_.map(static_cast<std::size_t>(example.params));
    for (int i = example.first_param; i < example.first_param + example.params; ++i)
      out_.text(d_->example_params[i].name), value(d_->example_params[i].value);
  }
  constexpr void value(const NamePair& pair) {
    out_.array(2), value(pair.first), value(pair.second);
  }
  constexpr void value(const Renaming& r) {
    out_.array(3), value(r.version), value(r.from), value(r.to);
  }
  constexpr void value(const Addition& a) { out_.array(2), value(a.version), value(a.name); }
  constexpr void value(const FormerValue& f) { out_.array(2), value(f.param), value(f.value); }
  constexpr void value(const Removal& r) {
    out_.array(r.was.has_value ? 3 : 2), value(r.version), value(r.param);
    if (r.was.has_value) value(r.was.value);
  }
  constexpr void value(ParamName name) {
    name.index < 0 ? out_.null() : value(d_->params[name.index].name);
  }

  constexpr void value(Kind kind) {
    constexpr const char* names[] = {"",     "bool", "int32",  "int64", "float32", "float64",
                                     "text", "ints", "floats", "enum",  "texts",   "tensor"};
    out_.text(names[static_cast<int>(kind)]);
  }
  // Also written for a required parameter: the member's value, which readers ignore.
  constexpr void value(const DefaultOf& of) {
    const ParamEntry& param = of.param;
    const auto list = [&](const auto& values) { pool(values, param.first_value, param.values); };
    switch (param.kind) {
      case Kind::boolean:
        return value(param.integer != 0);
      case Kind::float32:
      case Kind::float64:
        return value(param.number);
      case Kind::text:
        return value(param.text);
      case Kind::ints:
        return list(d_->ints);
      case Kind::floats:
        return list(d_->floats);
      case Kind::texts:
        return list(d_->texts);
      case Kind::tensor:
        return param.is_tensor_of_integers() ? list(d_->ints) : list(d_->floats);
      case Kind::choice:
        return value(choice_name(param));
      default:
        return value(param.integer);
    }
  }
  // Returns the name of an enum's default. The checks ensure that there is one, also for a required
  // enum.
  constexpr const char* choice_name(const ParamEntry& param) const {
    for (int i = param.first_choice; i < param.first_choice + param.choices; ++i)
      if (d_->choices[i].value == param.integer) return d_->choices[i].name;
    return "";
  }
  constexpr void value(const ChoicesOf& of) {
    out_.array(static_cast<std::size_t>(of.param.choices));
    for (int i = 0; i < of.param.choices; ++i) value(d_->choices[of.param.first_choice + i].name);
  }
  // An integer parameter's bounds are written as integers, so that all int64 are exact.
  constexpr void value(const BoundOf& of) {
    const Kind kind = of.param.kind;
    if (!of.bound.has_value) return out_.null();
    if (kind == Kind::int32 || kind == Kind::int64 || kind == Kind::ints ||
        of.param.is_tensor_of_integers())
      return value(of.bound.integer);
    value(of.bound.number);
  }

  CborWriter<Bytes> out_;
  const Description* d_;
};

/// An object of exactly the size of the bytes: the symbol's size in the file is the manifest's.
template <std::size_t size>
struct ManifestBytes {
  unsigned char bytes[size];
};

/// The bytes of the manifest, which is written once to count them and once to store them.
template <class C>
constexpr std::size_t manifest_size(std::string_view name) {
  ByteCounter counter;
  ManifestWriter(counter, description_of<C>).write(name, functions_of<C>());
  return counter.size;
}

/// Name is a type with `static constexpr std::string_view text()`, because a text cannot be a
/// template argument. One byte for classes with faults, which do not compile, so that no second
/// error comes from here.
template <class C, class Name>
constexpr auto manifest_bytes() {
  if constexpr (OperatorVerdict<C>::good) {
    ManifestBytes<manifest_size<C>(Name::text())> manifest{};
    ByteWriter writer{manifest.bytes};
    ManifestWriter(writer, description_of<C>).write(Name::text(), functions_of<C>());
    return manifest;
  } else {
    return ManifestBytes<1>{};
  }
}

}  // namespace tenon::TENON_SDK::detail

namespace tenon::TENON_SDK {

/// Returns the manifest of an operator's class under a name: the bytes that TENON_OPERATOR(name,
/// Class) would put into a plugin. For applications that register their own class with
/// table_of<Class>(). A class that TENON_OPERATOR rejects does not compile here either, with the
/// same sentence (checks.hpp). The name may be known only at run time; it is copied unchanged, and
/// the host checks it.
///
///     const std::string manifest = tenon::manifest_of<Cosine>("cosine");  // 582 bytes
template <class Class>
std::string manifest_of(std::string_view name) {
  using C = Completed<Class>;
  static_assert(detail::OperatorVerdict<C>::reported);
  std::string bytes;
  if constexpr (detail::OperatorVerdict<C>::good) {
    bytes.resize(detail::manifest_size<C>(name));
    detail::ByteWriter writer{reinterpret_cast<unsigned char*>(bytes.data())};
    detail::ManifestWriter(writer, detail::description_of<C>)
        .write(name, detail::functions_of<C>());
  }
  return bytes;
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
