// Top-level keys of a JSON text. In a separate file because nlohmann's header is slow to compile.
#pragma once
#include <set>
#include <string>

/// Returns an object's keys; for a list, those of its first element. Throws if the text is not
/// JSON.
std::set<std::string> json_keys(const std::string& text);
