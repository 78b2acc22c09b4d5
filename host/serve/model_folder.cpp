#include "serve/model_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <tenon/host/devices.hpp>
#include <tenon/host/failure.hpp>

#include "serve/served_dtype.hpp"

namespace tenon::serve {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& name, const std::string& value, const char* needed) {
  throw Failure(FailureKind::usage,
                fmt::format("parameter '{}' is '{}' but must be {}", name, value, needed),
                "correct it in config.pbtxt");
}

template <class T>
T number(const std::string& name, const std::string& value, T max, const char* needed) {
  T read{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error != std::errc() || end != value.data() + value.size() || !(read >= 0 && read <= max))
    refuse(name, value, needed);
  return read;
}

bool truth(const std::string& name, const std::string& value) {
  if (value != "true" && value != "false") refuse(name, value, "true or false");
  return value == "true";
}

void set_isolated(Isolation& isolation, const std::string& value) {
  if (value == "true" || value == "false") {
    isolation.all = value == "true";
    return;
  }
  for (std::size_t begin = 0; begin <= value.size();) {
    const auto end = std::min(value.find(',', begin), value.size());
    if (end == begin) refuse("isolate", value, "true, false, or plugin names separated by commas");
    isolation.plugins.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Refuses names that match no plugin, which would isolate nothing.
void require_isolated(const Catalog& catalog, const Isolation& isolation) {
  for (const auto& name : isolation.plugins) {
    bool found = false;
    for (const auto& file : catalog.files()) found = found || is_called(file, name);
    if (!found)
      throw Failure(
          FailureKind::usage,
          fmt::format("parameter 'isolate' names '{}', but the model has no such plugin", name),
          "use true to isolate all plugins");
  }
}

}  // namespace

HostOptions host_options(const Parameters& parameters) {
  HostOptions options;
  for (const auto& [name, value] : parameters) {
    if (name == "threads")
      options.threads = number<int>(name, value, max_threads, "a number of threads");
    else if (name == "isolate")
      set_isolated(options.isolate, value);
    else if (name == "isolate_timeout")
      options.isolate.call_seconds = number<double>(name, value, 1e9, "a number of seconds");
    else if (name == "isolate_memory")
      options.isolate.memory =
          number<std::uint64_t>(name, value, std::uint64_t{1} << 60, "a number of bytes");
    else if (name == "trust_writable")
      options.trust_writable = truth(name, value);
    else
      throw Failure(FailureKind::usage, fmt::format("unknown parameter '{}'", name),
                    did_you_mean(similar_names(name, {"threads", "isolate", "isolate_timeout",
                                                      "isolate_memory", "trust_writable"}),
                                 "the parameters are threads, isolate, isolate_timeout, "
                                 "isolate_memory and trust_writable"));
  }
  return options;
}

OpenModel open_model(const fs::path& version, HostOptions options) {
  std::error_code error;
  const bool own_plugins = fs::is_directory(version / plugins_folder, error);
  const auto isolation = options.isolate;
  if (own_plugins) {
    options.trusted_only = true;
    options.config = version;
  }
  auto host = std::make_shared<Host>(std::move(options));
  if (own_plugins) host->add_plugins(version / plugins_folder);
  require_isolated(host->catalog(), isolation);
  auto graph = Graph::load(*host, version / model_file);
  graph.bind();
  return {std::move(host), std::move(graph)};
}

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
                     quoted(tensor.name), served(tensor.dtype)->datatype, dims_text);
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
