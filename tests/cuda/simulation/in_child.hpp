// Runs a part of a test in a process of its own, which may crash or lose its devices. The program itself never uses CUDA, for a process
// that has used it cannot give it to its children.
#pragma once
#include <functional>
#include <string>

/// What the part gave back; `crashed` where it died of a signal or was stopped by a sanitizer.
std::string in_child(const std::function<std::string()>& part);
