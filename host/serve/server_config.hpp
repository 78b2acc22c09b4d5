// A model's configuration as the server tells it, and whether it is one of the graph.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/model_folder.hpp"
#include "serve/signature.hpp"

namespace tenon::serve {

struct ConfigTensor {
  std::string name, dtype;         ///< `TYPE_FP32`
  std::vector<std::int64_t> dims;  ///< as the backend gets them: with the batch axis and reshaped
};

struct ServerConfig {
  std::int64_t max_batch = 0;
  std::vector<ConfigTensor> inputs, outputs;
  Parameters parameters;
  bool rows() const { return max_batch > 0; }
  std::vector<std::string> output_names() const;
};

/// Throws Failure (usage) where the text is not such a configuration.
ServerConfig read_config(std::string_view json);

/// The text with inputs and outputs of the graph, and where these may have rows with batches of up to `max_batch` of them.
std::string completed_config(std::string_view json, const Signature& signature, std::int64_t max_batch);

/// Throws Failure (usage) that names what differs.
void require_same(const ServerConfig& config, const Signature& signature);

}  // namespace tenon::serve
