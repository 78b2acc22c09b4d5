// Plugins that are not loaded: they crashed before, other users may write to them, or they are not
// trusted.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <tenon/host/api.hpp>
#include <vector>

namespace tenon {

/// A plugin that crashed or hung when it was first loaded. It is not loaded again until its content
/// changes or release_plugins() names it.
struct QuarantinedPlugin {
  enum class File : std::uint8_t {
    same,
    changed,  ///< it will be tried again
    missing,
  };
  std::filesystem::path path;
  std::string reason;  ///< to follow the path in a sentence: "crashed ..."
  File file = File::same;
};

/// The plugins quarantined by this user's processes. `cache`: as in HostOptions.
TENON_API std::vector<QuarantinedPlugin> quarantined_plugins(
    const std::filesystem::path& cache = {});

/// Removes a plugin, or all plugins of a folder, from quarantine, and returns those that were in
/// it. Throws Failure (file) if a quarantine record cannot be removed.
TENON_API std::vector<QuarantinedPlugin> release_plugins(
    const std::filesystem::path& file_or_folder, const std::filesystem::path& cache = {});

/// Why a Host without HostOptions::trust_writable rejects the file, to follow its path in a
/// sentence: users other than root, this user, and the owner of Tenon's library and the groups that
/// may replace it, may write to the file or its folder. Empty if it is trusted, and if there is no
/// such file.
TENON_API std::string distrust_reason(const std::filesystem::path& plugin);

/// A plugin that a Host with HostOptions::trusted_only loads from any path: it is identified by its
/// content.
struct TrustedPlugin {
  std::string sha256;          ///< of the file's bytes, in hexadecimal
  std::filesystem::path path;  ///< its path when it was added, for messages
};

/// The user's list: the file `trusted_plugins` in `config` (as in HostOptions), in the format of
/// sha256sum. Here and below: throws Failure (file) if a file cannot be read or written, is not
/// such a list, or is writable by users other than root and this user.
TENON_API std::vector<TrustedPlugin> trusted_plugins(const std::filesystem::path& config = {});
/// Adds the file with its current content. A file that is already listed stays unchanged in the
/// list. Does not run any of its code.
TENON_API TrustedPlugin trust_plugin(const std::filesystem::path& file,
                                     const std::filesystem::path& config = {});
/// Removes the plugin with this path or hash from the list, and returns it.
TENON_API std::vector<TrustedPlugin> distrust_plugin(const std::string& path_or_sha256,
                                                     const std::filesystem::path& config = {});

/// A key whose signatures a Host with HostOptions::trusted_only accepts. `ssh-keygen -Y sign -n
/// tenon-plugin -f KEY PLUGIN.so` signs a plugin; the signature is the file PLUGIN.so.sig next to
/// it, which ssh-keygen verifies before any of the plugin is loaded.
struct TrustedSigner {
  std::string name;
  std::string key;  ///< in OpenSSH's format: "ssh-ed25519 AAAA..."
};

/// The file `trusted_signers` in `config`, in OpenSSH's format of allowed signers (ssh-keygen(1)),
/// limited to lines with one name.
TENON_API std::vector<TrustedSigner> trusted_signers(const std::filesystem::path& config = {});
/// Adds the key in a file NAME.pub of ssh-keygen. `name`: default: the key's comment, or NAME if it
/// has none.
TENON_API TrustedSigner trust_signer(const std::filesystem::path& public_key,
                                     const std::string& name = {},
                                     const std::filesystem::path& config = {});
TENON_API std::vector<TrustedSigner> distrust_signer(const std::string& name,
                                                     const std::filesystem::path& config = {});

}  // namespace tenon
