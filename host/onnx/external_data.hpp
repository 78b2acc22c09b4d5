// External data: files in the model's folder that hold tensor elements.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/file_memory.hpp"
#include "io/open_file.hpp"

namespace tenon::onnx {

/// Opens the external data file that a model calls `location`. It must be a regular file with a
/// single hard link, in the model's folder or below. An untrusted model must not be able to read
/// other files: `..` may not leave the folder, and links may only lead to files in the folder or,
/// in a Hugging Face cache, to the `blobs` folder of the same repository. `trust_links` also allows
/// other links and files with several hard links. `resolve_by_hand` resolves the path as on kernels
/// older than 5.6. Throws Failure (file).
OpenFile open_beneath(const std::filesystem::path& model, std::string_view location,
                      bool trust_links = false, bool resolve_by_hand = false);

/// A model's external data files, each opened and mapped once.
class ExternalFiles {
 public:
  ExternalFiles(std::filesystem::path model, bool trust_links)
      : model_(std::move(model)), trust_links_(trust_links) {}

  struct File {
    std::shared_ptr<const FileMemory> memory;
    // begin -> end of byte ranges already lent to tensors, which may write to them
    std::map<std::uint64_t, std::uint64_t> lent{};

    /// Lends the range and returns true if no byte of it has been lent before.
    bool lend(std::uint64_t offset, std::uint64_t size);
  };
  /// Sets `added` to whether this call opened the file.
  File& open(std::string_view location, bool& added);

 private:
  std::filesystem::path model_;
  bool trust_links_;
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace tenon::onnx
