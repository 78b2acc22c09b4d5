// The user's lists of what is trusted: plugins by their content, and keys that sign plugins.
#pragma once
#include <filesystem>
#include <string>
#include <tenon/host/trust.hpp>
#include <vector>

#include "plugin/discovery/input_file.hpp"
#include "plugin/loading/trust.hpp"

namespace tenon {

/// Which plugins HostOptions::trusted_only lets in. The lists are read when they are first asked for, and whenever they have changed since.
/// Threads: one.
class TrustLists {
 public:
  /// `config`: the folder of the lists; empty: the user's.
  explicit TrustLists(const std::filesystem::path& config);

  /// Why what `content` holds is not let in, as words that follow `path`, from where it comes; empty: it is. `content` must stay what it
  /// is, or the answer is of no use for loading it. Throws Failure (file) if a list is not sound.
  std::string fault(const std::filesystem::path& path, const InputFile& content);

 private:
  void read();
  bool is_installed(const std::filesystem::path& path) const;

  std::filesystem::path plugins_file_, signers_file_, installed_;
  FileStamp plugins_stamp_, signers_stamp_;
  std::vector<TrustedPlugin> plugins_;
  bool has_signers_ = false;
};

}  // namespace tenon
