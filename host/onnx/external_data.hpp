// Files beside a model that hold its tensors' elements.
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

/// Opens the file that a model calls `location`: a regular file with no other name, in the model's folder or below. Who made the model must
/// not be able to read another file by it: no way out by `..`, and links only to files in the folder or, in Hugging Face's cache, in the
/// `blobs` of the same repository. `trust_links`: other links, and files with several names, are read, too. Throws Failure (file).
/// `resolve_by_hand`: as on kernels older than 5.6.
OpenFile open_beneath(const std::filesystem::path& model, std::string_view location, bool trust_links = false,
                      bool resolve_by_hand = false);

/// Such files, each mapped once.
class ExternalFiles {
 public:
  ExternalFiles(std::filesystem::path model, bool trust_links) : model_(std::move(model)), trust_links_(trust_links) {}

  struct File {
    std::shared_ptr<const FileMemory> memory;
    std::map<std::uint64_t, std::uint64_t> lent{};  // begin -> end of what tensors were given to write to

    /// Whether nobody was given any byte of it before; if so, it is given now.
    bool lend(std::uint64_t offset, std::uint64_t size);
  };
  /// `added`: whether it was not open before.
  File& open(std::string_view location, bool& added);

 private:
  std::filesystem::path model_;
  bool trust_links_;
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace tenon::onnx
