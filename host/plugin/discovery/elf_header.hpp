// Checks the first 64 bytes of a shared object: its type, its machine, and that the file is
// complete.
#pragma once
#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Throws PluginError: not a plugin, or wrong machine.
void check_elf_header(const InputFile& file);

}  // namespace tenon
