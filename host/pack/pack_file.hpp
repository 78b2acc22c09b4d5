// The untrusted file of a pack.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace tenon {

/// SHA-256 of the file's bytes. `on_chunk` receives each hashed chunk, in order: a caller that
/// copies in it has the hash of its copy, whatever happens to the file meanwhile. Throws Failure
/// (file).
std::string sum_of_pack(const std::filesystem::path& path,
                        const std::function<void(std::span<const std::byte>)>& on_chunk = {});

}  // namespace tenon
