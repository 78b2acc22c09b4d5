// The system loader's message, turned into a status and a sentence.
#pragma once
#include <string_view>

#include "plugin/plugin_error.hpp"

namespace tenon {

/// Why a plugin is not loaded when descriptors ran out; follows its path.
inline constexpr const char* too_many_files =
    "cannot be loaded: too many files are open in this process (ulimit -n), of which each loaded plugin keeps one";

/// `message` is dlerror()'s, in English; any other text becomes part of a general sentence.
PluginError explain_loader_message(std::string_view message);

}  // namespace tenon
