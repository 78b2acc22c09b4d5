// Runs a part of a test in a child process, which may crash or lose its devices. The program itself
// never uses CUDA, because CUDA does not survive fork().
#pragma once
#include <functional>
#include <string>

/// Returns the part's result; `crashed` if a signal or a sanitizer ended it.
std::string in_child(const std::function<std::string()>& part);
