// Signatures of plugins, made by OpenSSH: `ssh-keygen -Y sign -n tenon-plugin -f KEY PLUGIN.so`.
#pragma once
#include <filesystem>
#include <string>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Checks that `signature` is a signature of `content` by a key in `signers`, an OpenSSH file of
/// allowed signers. Returns an empty text if so, else the reason, as text that follows the
/// signature's path. ssh-keygen, searched in PATH, receives open files instead of paths.
std::string signature_fault(const InputFile& content, const std::filesystem::path& signature,
                            const std::filesystem::path& signers);

}  // namespace tenon
