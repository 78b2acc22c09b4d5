// What a JSON text has at its top. In a file of its own because nlohmann's header is slow to compile.
#pragma once
#include <set>
#include <string>

/// An object's keys; of a list, those of its first element. Throws where the text is not JSON.
std::set<std::string> json_keys(const std::string& text);
