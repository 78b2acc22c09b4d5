// The system loader's message, turned into a status and a sentence.
#pragma once
#include <string_view>

#include "plugin/plugin_error.hpp"

namespace tenon {

/// `message` is dlerror()'s, in English; any other text becomes part of a general sentence.
PluginError explain_loader_message(std::string_view message);

}  // namespace tenon
