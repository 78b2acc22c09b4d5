// Converts the system loader's message to a status and a sentence.
#pragma once
#include <string_view>

#include "plugin/plugin_error.hpp"

namespace tenon {

/// Reason for not loading a plugin when file descriptors run out; follows its path.
inline constexpr const char* too_many_files =
    "cannot be loaded: this process has too many open files (ulimit -n); each loaded plugin keeps "
    "one open";

/// `message` is dlerror()'s English text; unknown messages become part of a general sentence.
PluginError explain_loader_message(std::string_view message);

}  // namespace tenon
