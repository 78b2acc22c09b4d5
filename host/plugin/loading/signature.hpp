// Signatures of plugins, as OpenSSH makes them: `ssh-keygen -Y sign -n tenon-plugin -f KEY PLUGIN.so`.
#pragma once
#include <filesystem>
#include <string>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Whether a key in the file `signers` (allowed signers of OpenSSH) made `signature` of what `content` holds. Empty: yes; else why not, as
/// words that follow the signature's path. ssh-keygen, looked for in PATH, gets open files, no paths.
std::string signature_fault(const InputFile& content, const std::filesystem::path& signature, const std::filesystem::path& signers);

}  // namespace tenon
