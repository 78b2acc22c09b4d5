// The manifest: an operator's description as CBOR, made at compile time, so that Tenon and other tools can read it from the file without
// running the plugin. It is the content of the symbol tenon_op_v1__NAME, whose size is the manifest's. One map, its keys in this order:
//
//     tenon             1, the version of this format
//     name, doc         text
//     version           integer, 1 or more; files store it beside the parameters
//     aliases           array of text
//     types             array of dtypes by name ("float32"): what the inputs without types of their own share
//     inputs            array of {name, doc, optional, variadic, types: null or dtypes of its own, initial: null or number}
//     outputs           array of {name, doc, hidden, count: null or the name of a parameter}
//     states            array of {name, doc, initial: number}
//     params            array of {name, doc, kind, default, required, min, max, above, below, choices}
//     inplace           array of [input, output]
//     backward_inplace  array of [output, input]
//     backward_reads    null (everything), or array of inputs and outputs
//     accumulates, strides, random, elementwise, kernels_elsewhere: true or false
//     functions         array of forward, forward_sparse, backward, backward_sparse, gradient, infer_storage: those that the class has
//     renamed           array of [version, from, to]
//     added             array of [version, parameter]
//
// A parameter's kind is bool, int32, int64, float32, float64, text, ints, floats or enum; its default has the same type, an enum's is a
// name. Bounds are null or a number, choices is empty if there is no one_of. The host checks all of it and refuses unknown versions.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "cbor.hpp"
#include "checks.hpp"
#include "dtype.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The functions that a class has, by the names that the manifest has for them.
struct FunctionNames {
  const char* names[6] = {};
  std::size_t size = 0;
};

/// Of a class that passed its checks; infer and workspace are not listed, since nobody asks for them before the plugin is loaded.
template <class C>
constexpr FunctionNames functions_of() {
  using M = Members<C>;
  const bool given[] = {M::forward, M::forward_sparse, M::backward, M::backward_sparse, M::gradient, M::infer_storage};
  const char* const all[] = {"forward", "forward_sparse", "backward", "backward_sparse", "gradient", "infer_storage"};
  FunctionNames functions;
  for (int i = 0; i < 6; ++i)
    if (given[i]) functions.names[functions.size++] = all[i];
  return functions;
}

/// Writes a whole manifest. Keys and their order are part of the format: equal descriptions give equal bytes from every compiler.
template <class Bytes>
class ManifestWriter {
 public:
  constexpr ManifestWriter(Bytes& bytes, const Description& description) : out_(bytes), d_(&description) {}

  /// name: the operator's, from TENON_OPERATOR.
  constexpr void write(std::string_view name, const FunctionNames& functions) {
    out_.map(21);
    key("tenon"), out_.integer(1);
    key("name"), out_.text(name);
    key("doc"), out_.text(d_->doc);
    key("version"), out_.integer(d_->version);
    key("aliases"), names(d_->aliases);
    key("types"), dtypes(d_->types);
    key("inputs"), inputs();
    key("outputs"), outputs();
    key("states"), states();
    key("params"), params();
    key("inplace"), pairs(d_->inplace);
    key("backward_inplace"), pairs(d_->backward_inplace);
    key("backward_reads");
    if (d_->backward_reads_said) {
      names(d_->backward_reads);
    } else {
      out_.null();
    }
    flag("accumulates", d_->accumulates);
    flag("strides", d_->strides);
    flag("random", d_->random);
    flag("elementwise", d_->elementwise);
    flag("kernels_elsewhere", d_->kernels_elsewhere);
    key("functions"), out_.array(functions.size);
    for (std::size_t i = 0; i < functions.size; ++i) out_.text(functions.names[i]);
    key("renamed"), renamed();
    key("added"), added();
  }

 private:
  constexpr void key(std::string_view key) { out_.text(key); }
  constexpr void entry(std::string_view k, std::string_view value) { key(k), out_.text(value); }
  constexpr void flag(std::string_view k, bool value) { key(k), out_.boolean(value); }
  // An array's head; its items follow.
  template <class Entries>
  constexpr void head(const Entries& entries) {
    out_.array(static_cast<std::size_t>(entries.size));
  }

  template <class Entries>
  constexpr void names(const Entries& entries) {
    head(entries);
    for (const char* name : entries) out_.text(name);
  }
  template <class Entries>
  constexpr void pairs(const Entries& entries) {
    head(entries);
    for (const NamePair& pair : entries) out_.array(2), out_.text(pair.first), out_.text(pair.second);
  }
  // By name, in the order of the C boundary's numbers.
  constexpr void dtypes(Types types) {
    std::size_t count = 0;
    for (int i = 0; i < dtype_count; ++i) count += types.has(static_cast<DType>(i));
    out_.array(count);
    for (int i = 0; i < dtype_count; ++i)
      if (types.has(static_cast<DType>(i))) out_.text(name_of(static_cast<DType>(i)));
  }

  constexpr void inputs() {
    head(d_->inputs);
    for (const InputEntry& input : d_->inputs) {
      out_.map(6), entry("name", input.name), entry("doc", input.doc);
      flag("optional", input.optional), flag("variadic", input.variadic), key("types");
      if (input.own_types) {
        dtypes(input.types);
      } else {
        out_.null();
      }
      key("initial");
      if (input.begins) {
        out_.number(input.initial);
      } else {
        out_.null();
      }
    }
  }
  constexpr void outputs() {
    head(d_->outputs);
    for (const OutputEntry& output : d_->outputs) {
      out_.map(4), entry("name", output.name), entry("doc", output.doc), flag("hidden", output.hidden), key("count");
      if (output.count_param >= 0) {
        out_.text(d_->params[output.count_param].name);
      } else {
        out_.null();
      }
    }
  }
  constexpr void states() {
    head(d_->states);
    for (const StateEntry& state : d_->states) {
      out_.map(3), entry("name", state.name), entry("doc", state.doc), key("initial"), out_.number(state.initial);
    }
  }

  constexpr void params() {
    head(d_->params);
    for (const ParamEntry& param : d_->params) {
      out_.map(10), entry("name", param.name), entry("doc", param.doc), entry("kind", kind_name(param.kind));
      key("default"), default_value(param), flag("required", param.required);
      bound("min", param, param.min), bound("max", param, param.max);
      bound("above", param, param.above), bound("below", param, param.below);
      key("choices"), out_.array(static_cast<std::size_t>(param.choices));
      for (int i = 0; i < param.choices; ++i) out_.text(d_->choices[param.first_choice + i].name);
    }
  }
  static constexpr const char* kind_name(Kind kind) {
    constexpr const char* names[] = {"", "bool", "int32", "int64", "float32", "float64", "text", "ints", "floats", "enum"};
    return names[static_cast<int>(kind)];
  }
  // Of a required parameter too: the member's value, which readers ignore.
  constexpr void default_value(const ParamEntry& param) {
    switch (param.kind) {
      case Kind::boolean:
        return out_.boolean(param.integer != 0);
      case Kind::float32:
      case Kind::float64:
        return out_.number(param.number);
      case Kind::text:
        return out_.text(param.text);
      case Kind::ints:
        out_.array(static_cast<std::size_t>(param.values));
        for (int i = 0; i < param.values; ++i) out_.integer(d_->ints[param.first_value + i]);
        return;
      case Kind::floats:
        out_.array(static_cast<std::size_t>(param.values));
        for (int i = 0; i < param.values; ++i) out_.number(d_->floats[param.first_value + i]);
        return;
      case Kind::choice:
        return out_.text(choice_name(param));
      default:
        return out_.integer(param.integer);
    }
  }
  constexpr const char* choice_name(const ParamEntry& param) const {
    for (int i = param.first_choice; i < param.first_choice + param.choices; ++i)
      if (d_->choices[i].value == param.integer) return d_->choices[i].name;
    return "";
  }
  // An integer parameter's bounds are integers, so that those of int64 are exact.
  constexpr void bound(std::string_view k, const ParamEntry& param, const Bound& bound) {
    key(k);
    const bool integer = param.kind == Kind::int32 || param.kind == Kind::int64 || param.kind == Kind::ints;
    if (!bound.given) {
      out_.null();
    } else if (integer) {
      out_.integer(bound.integer);
    } else {
      out_.number(bound.number);
    }
  }

  constexpr void renamed() {
    head(d_->renamed);
    for (const Renaming& r : d_->renamed) out_.array(3), out_.integer(r.version), out_.text(r.from), out_.text(r.to);
  }
  constexpr void added() {
    head(d_->added);
    for (const Addition& a : d_->added) out_.array(2), out_.integer(a.version), out_.text(a.param);
  }

  CborWriter<Bytes> out_;
  const Description* d_;
};

/// The bytes as an object of exactly their size: the symbol's size in the file is the manifest's.
template <std::size_t size>
struct ManifestBytes {
  unsigned char bytes[size];
};

/// Bytes of the manifest: it is written once to count them, and once to keep them.
template <class C>
constexpr std::size_t manifest_size(std::string_view name) {
  ByteCounter counter;
  ManifestWriter(counter, description_of<C>).write(name, functions_of<C>());
  return counter.size;
}

/// Name is a type with `static constexpr std::string_view text()`, since a text cannot be a template argument. For a class with mistakes,
/// which do not compile, one byte: no second error comes from here.
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

/// The manifest of an operator's class under a name, as the bytes that TENON_OPERATOR(name, Class) would put into a plugin. For
/// applications that register a class of their own, with table_of<Class>(). Compiles with one sentence if the class has a mistake.
template <class Class>
std::string manifest_of(std::string_view name) {
  using C = Completed<Class>;
  static_assert(detail::OperatorVerdict<C>::told);
  std::string bytes;
  if constexpr (detail::OperatorVerdict<C>::good) {
    bytes.resize(detail::manifest_size<C>(name));
    detail::ByteWriter writer{reinterpret_cast<unsigned char*>(bytes.data())};
    detail::ManifestWriter(writer, detail::description_of<C>).write(name, detail::functions_of<C>());
  }
  return bytes;
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
