// The first 64 bytes of a shared object: is it one, is it for this machine, is it all there.
#pragma once
#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Throws PluginError: not a plugin, or wrong machine.
void check_elf_header(const InputFile& file);

}  // namespace tenon
