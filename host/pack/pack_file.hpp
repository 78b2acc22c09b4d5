// The file of a pack, before anything in it is believed.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace tenon {

/// SHA-256 of the file's bytes. `also` gets each part that is hashed, in order: who copies in it has the hash of the copy, whatever happens
/// to the file meanwhile. Throws Failure (file).
std::string sum_of_pack(const std::filesystem::path& path, const std::function<void(std::span<const std::byte>)>& also = {});

}  // namespace tenon
