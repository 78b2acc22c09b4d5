// Manifests for tests, written byte by byte, independent of the SDK.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

class Cbor {
 public:
  void text(std::string_view text) {
    head(3, text.size());
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  void integer(std::int64_t value) {
    value < 0 ? head(1, static_cast<std::uint64_t>(-1 - value))
              : head(0, static_cast<std::uint64_t>(value));
  }
  void boolean(bool value) {
    bytes_.push_back(std::byte{value ? std::uint8_t{0xf5} : std::uint8_t{0xf4}});
  }
  void null() { bytes_.push_back(std::byte{0xf6}); }
  void list(std::size_t count) { head(4, count); }
  void map(std::size_t count) { head(5, count); }
  void pair(std::string_view key, std::string_view value) { text(key), text(value); }
  void texts(std::string_view key, const std::vector<std::string>& values) {
    text(key);
    list(values.size());
    for (const auto& value : values) text(value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void head(unsigned major, std::uint64_t value) {
    const int extra = value < 24 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : 4;
    const auto low = extra == 0   ? static_cast<unsigned>(value)
                     : extra == 1 ? 24U
                     : extra == 2 ? 25U
                                  : 26U;
    bytes_.push_back(static_cast<std::byte>(major << 5 | low));
    for (int i = extra - 1; i >= 0; --i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  std::vector<std::byte> bytes_;
};

struct OperatorSpec {
  std::string name;
  std::vector<std::string> inputs, outputs,
      states;  // input? is optional, input* variadic; output#param is counted by a parameter
  std::vector<std::pair<std::string, std::string>> params;  // name, kind
  int version = 1;
};

inline std::string name_part(const std::string& text) {
  return text.substr(0, text.find_first_of("?*#"));
}

inline void write_input(Cbor& to, const std::string& input) {
  to.map(5);
  to.pair("name", name_part(input)), to.pair("doc", "");
  to.text("optional"), to.boolean(input.back() == '?');
  to.text("variadic"), to.boolean(input.back() == '*');
  to.text("types"), to.null();
}

inline void write_output(Cbor& to, const std::string& output) {
  to.map(4);
  to.pair("name", name_part(output)), to.pair("doc", "");
  to.text("hidden"), to.boolean(false);
  to.text("count");
  const auto count = output.find('#');
  count == std::string::npos ? to.null() : to.text(output.substr(count + 1));
}

// kind: for a tensor "tensor float32".
inline void write_param(Cbor& to, const std::string& name, const std::string& kind) {
  const bool tensor = kind.starts_with("tensor ");
  to.map(tensor ? 11 : 10);
  to.pair("name", name), to.pair("doc", ""), to.pair("kind", kind.substr(0, kind.find(' ')));
  if (tensor) to.pair("dtype", kind.substr(kind.find(' ') + 1));
  to.text("default");
  if (kind == "text")
    to.text("");
  else if (kind == "bool")
    to.boolean(false);
  else if (kind == "ints" || kind == "floats" || kind == "texts" || tensor)
    to.list(0);
  else
    to.integer(0);
  to.text("required"), to.boolean(false);
  for (const auto* bound : {"min", "max", "above", "below"}) to.text(bound), to.null();
  to.texts("choices", {});
}

inline std::vector<std::byte> manifest_of(const OperatorSpec& op) {
  Cbor to;
  to.map(21);
  to.text("tenon"), to.integer(1);
  to.pair("name", op.name), to.pair("doc", "an operator of the tests");
  to.text("version"), to.integer(op.version);
  to.texts("aliases", {}), to.texts("types", {"float32", "float64"});
  to.text("inputs"), to.list(op.inputs.size());
  for (const auto& input : op.inputs) write_input(to, input);
  to.text("outputs"), to.list(op.outputs.size());
  for (const auto& output : op.outputs) write_output(to, output);
  to.text("states"), to.list(op.states.size());
  for (const auto& state : op.states) to.map(2), to.pair("name", state), to.pair("doc", "");
  to.text("params"), to.list(op.params.size());
  for (const auto& [name, kind] : op.params) write_param(to, name, kind);
  to.texts("inplace", {}), to.texts("backward_inplace", {});
  to.text("backward_reads"), to.null();
  for (const auto* flag : {"accumulates", "strides", "random", "elementwise", "kernels_elsewhere"})
    to.text(flag), to.boolean(false);
  to.texts("functions", {"forward"}), to.texts("renamed", {}), to.texts("added", {});
  return to.bytes();
}
