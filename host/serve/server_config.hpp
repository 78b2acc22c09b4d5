// A model's configuration from the server, and checks against the graph.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/model_folder.hpp"
#include "serve/signature.hpp"

namespace tenon::serve {

struct ConfigTensor {
  std::string name, dtype;  ///< `TYPE_FP32`
  std::vector<std::int64_t>
      dims;  ///< as the backend receives them: with the batch axis, after reshape
};

struct ServerConfig {
  std::int64_t max_batch = 0;
  std::vector<ConfigTensor> inputs, outputs;
  Parameters parameters;
  bool rows() const { return max_batch > 0; }
  std::vector<std::string> output_names() const;
};

/// Throws Failure (usage) if the text is not a valid configuration.
ServerConfig read_config(std::string_view json);

/// Adds the graph's inputs and outputs to the text and, if they may have a batch axis, batching of
/// up to `max_batch` rows.
std::string completed_config(std::string_view json, const Signature& signature,
                             std::int64_t max_batch);

/// Throws Failure (usage) that names the first difference.
void require_same(const ServerConfig& config, const Signature& signature);

}  // namespace tenon::serve
