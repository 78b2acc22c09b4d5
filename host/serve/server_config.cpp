#include "serve/server_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tenon/host/failure.hpp>

#include "serve/served_dtype.hpp"

namespace tenon::serve {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(
    const std::string& what,
    const std::string& hint = "tenon triton writes a config.pbtxt that matches the graph") {
  throw Failure(FailureKind::usage, what, hint);
}

/// protobuf's JSON has 64-bit numbers as strings.
std::int64_t integer(const Json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<std::int64_t>();
}

std::vector<std::int64_t> integers(const Json& list) {
  std::vector<std::int64_t> numbers;
  for (const auto& each : list) numbers.push_back(integer(each));
  return numbers;
}

std::vector<ConfigTensor> tensors(const Json& config, const char* key, bool rows) {
  std::vector<ConfigTensor> all;
  if (!config.contains(key)) return all;
  for (const auto& each : config.at(key)) {
    ConfigTensor tensor{each.at("name"), each.value("data_type", ""), {}};
    if (rows) tensor.dims.push_back(unknown);
    const auto reshaped = each.find("reshape");
    const auto dims = reshaped != each.end() ? integers(reshaped->value("shape", Json::array()))
                                             : integers(each.value("dims", Json::array()));
    tensor.dims.insert(tensor.dims.end(), dims.begin(), dims.end());
    all.push_back(std::move(tensor));
  }
  return all;
}

void require_tensor(const char* what, const std::vector<ConfigTensor>& listed,
                    const ServedTensor& served_one) {
  const auto found = std::find_if(listed.begin(), listed.end(),
                                  [&](const auto& each) { return each.name == served_one.name; });
  if (found == listed.end())
    refuse(fmt::format("config.pbtxt lacks the graph's {} '{}'", what, served_one.name));
  const auto dtype = fmt::format("TYPE_{}", served(served_one.dtype)->datatype);
  if (found->dtype != dtype)
    refuse(fmt::format("config.pbtxt declares {} '{}' as {} but the graph's is {}", what,
                       served_one.name, found->dtype, dtype));
  const auto& shape = served_one.shape;
  const bool fits = std::equal(shape.begin(), shape.end(), found->dims.begin(), found->dims.end(),
                               [](auto size, auto declared) {
                                 return size == unknown || declared == unknown || size == declared;
                               });
  if (!fits)
    refuse(
        fmt::format("config.pbtxt declares {} '{}' with shape [{}] (including the batch axis) but "
                    "the graph's is {}",
                    what, served_one.name, fmt::join(found->dims, ", "), to_string(shape)));
}

Json tensor_json(const ServedTensor& tensor, bool rows) {
  const auto* begin = tensor.shape.begin() + (rows ? 1 : 0);
  Json json{{"name", tensor.name},
            {"data_type", fmt::format("TYPE_{}", served(tensor.dtype)->datatype)}};
  json["dims"] = std::vector<std::int64_t>(begin, tensor.shape.end());
  if (json["dims"].empty()) {  // the server requires at least one dimension
    json["dims"] = {1};
    json["reshape"] = {{"shape", Json::array()}};
  }
  return json;
}

}  // namespace

std::vector<std::string> ServerConfig::output_names() const {
  std::vector<std::string> names;
  for (const auto& output : outputs) names.push_back(output.name);
  return names;
}

ServerConfig read_config(std::string_view json) {
  try {
    const auto config = Json::parse(json);
    ServerConfig read;
    read.max_batch = config.contains("max_batch_size") ? integer(config.at("max_batch_size")) : 0;
    read.inputs = tensors(config, "input", read.rows());
    read.outputs = tensors(config, "output", read.rows());
    if (config.contains("parameters"))
      for (const auto& [name, value] : config.at("parameters").items())
        read.parameters[name] = value.value("string_value", "");
    return read;
  } catch (const std::exception& error) {  // from nlohmann or stoll
    refuse(fmt::format("the server's configuration of the model cannot be read: {}", error.what()),
           "");
  }
}

std::string completed_config(std::string_view json, const Signature& signature,
                             std::int64_t max_batch) {
  auto config = Json::parse(json);
  const bool rows = signature.may_have_rows && max_batch > 0;
  config["max_batch_size"] = rows ? max_batch : 0;
  if (rows && !config.contains("sequence_batching") && !config.contains("dynamic_batching"))
    config["dynamic_batching"] = Json::object();
  if (config.value("instance_group", Json::array()).empty())
    config["instance_group"] = {{{"kind", "KIND_CPU"}, {"count", 1}}};
  config["input"] = config["output"] = Json::array();
  for (const auto& input : signature.inputs) config["input"].push_back(tensor_json(input, rows));
  for (const auto& output : signature.outputs)
    config["output"].push_back(tensor_json(output, rows));
  return config.dump();
}

void require_same(const ServerConfig& config, const Signature& signature) {
  for (const auto& input : signature.inputs) require_tensor("input", config.inputs, input);
  for (const auto& output : signature.outputs) require_tensor("output", config.outputs, output);
  for (const auto& input : config.inputs)
    if (std::none_of(signature.inputs.begin(), signature.inputs.end(),
                     [&](const auto& each) { return each.name == input.name; }))
      refuse(fmt::format("config.pbtxt lists an input '{}' that the graph's outputs do not need",
                         input.name));
  if (config.rows() && !signature.may_have_rows)
    refuse(
        "config.pbtxt sets max_batch_size, but not every input and output of the graph has an "
        "unknown first dimension",
        "set max_batch_size: 0 to run each request separately");
}

}  // namespace tenon::serve
