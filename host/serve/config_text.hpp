// config.pbtxt of a model, in protobuf's text format.
#pragma once
#include <cstdint>
#include <string>

#include "serve/model_folder.hpp"
#include "serve/signature.hpp"

namespace tenon::serve {

struct ConfigChoices {
  std::string name;
  std::int64_t max_batch = 0;  ///< rows of a run; 0: no batches
  int instances = 1;
  Parameters parameters;
};

std::string config_text(const ConfigChoices& choices, const Signature& signature);

}  // namespace tenon::serve
