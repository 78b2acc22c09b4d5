// A model's config.pbtxt, in protobuf's text format.
#pragma once
#include <cstdint>
#include <string>

#include "serve/model_folder.hpp"
#include "serve/signature.hpp"

namespace tenon::serve {

struct ConfigChoices {
  std::string name;
  std::int64_t max_batch = 0;  ///< maximum rows of a run; 0: no batching
  int instances = 1;
  Parameters parameters;
};

std::string config_text(const ConfigChoices& choices, const Signature& signature);

}  // namespace tenon::serve
