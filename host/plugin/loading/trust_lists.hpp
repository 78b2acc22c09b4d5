// The user's trust lists: plugins by their content, and keys that sign plugins.
#pragma once
#include <filesystem>
#include <string>
#include <tenon/host/trust.hpp>
#include <vector>

#include "plugin/discovery/input_file.hpp"
#include "plugin/loading/trust.hpp"

namespace tenon {

/// Decides which plugins HostOptions::trusted_only admits. The lists are read on first use, and
/// again whenever they change. Not thread-safe.
class TrustLists {
 public:
  /// `config` is the folder of the lists; empty: the user's.
  explicit TrustLists(const std::filesystem::path& config);

  /// Returns why `content`, which comes from `path`, is not admitted, as text that follows the
  /// path; empty if it is. `content` must not change afterwards, or the answer is void. Throws
  /// Failure (file) if a list is not valid.
  std::string fault(const std::filesystem::path& path, const InputFile& content);

 private:
  void read();
  bool is_installed(const std::filesystem::path& path) const;

  std::filesystem::path plugins_file_, signers_file_, installed_;
  FileStamp plugins_stamp_, signers_stamp_;
  std::vector<TrustedPlugin> plugins_;
  bool has_signers_ = false;
};

/// Checks that `signature` is a signature of `content` by a key in `signers`, an OpenSSH file of
/// allowed signers. Returns an empty text if so, else the reason, as text that follows the
/// signature's path. ssh-keygen, searched in PATH, receives open files instead of paths.
std::string signature_fault(const InputFile& content, const std::filesystem::path& signature,
                            const std::filesystem::path& signers);

}  // namespace tenon
