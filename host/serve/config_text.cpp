#include "serve/config_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "serve/served_dtype.hpp"

namespace tenon::serve {
namespace {

/// Escapes bytes beyond printable ASCII as \ooo, so that any UTF-8 text is read back unchanged.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c >= ' ' && c <= '~')
      out += c;
    else
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return out + '"';
}

/// The server requires at least one dimension, and supports scalars by `reshape`.
std::string tensor_text(const char* what, const ServedTensor& tensor, bool rows) {
  const auto* begin = tensor.shape.begin() + (rows ? 1 : 0);
  const std::vector<std::int64_t> dims(begin, tensor.shape.end());
  const auto dims_text = dims.empty() ? "dims: [ 1 ]\n    reshape: { shape: [ ] }"
                                      : fmt::format("dims: [ {} ]", fmt::join(dims, ", "));
  return fmt::format("{} [\n  {{\n    name: {}\n    data_type: TYPE_{}\n    {}\n  }}\n]\n", what,
                     quoted(tensor.name), served(tensor.dtype)->word, dims_text);
}

}  // namespace

std::string config_text(const ConfigChoices& choices, const Signature& signature) {
  const bool rows = choices.max_batch > 0;
  auto text = fmt::format("name: {}\nbackend: \"tenon\"\nmax_batch_size: {}\n",
                          quoted(choices.name), choices.max_batch);
  for (const auto& input : signature.inputs) text += tensor_text("input", input, rows);
  for (const auto& output : signature.outputs) text += tensor_text("output", output, rows);
  text += fmt::format("instance_group [ {{ kind: KIND_CPU count: {} }} ]\n", choices.instances);
  if (rows) text += "dynamic_batching { }\n";
  for (const auto& [name, value] : choices.parameters)
    text += fmt::format("parameters {{ key: {} value {{ string_value: {} }} }}\n", quoted(name),
                        quoted(value));
  return text;
}

}  // namespace tenon::serve
