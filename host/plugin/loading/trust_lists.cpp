#include "plugin/loading/trust_lists.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tenon/host/failure.hpp>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/child.hpp"
#include "io/open_file.hpp"
#include "io/sha256.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"
#include "plugin/library_location.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

/// Files passed to ssh-keygen as descriptors 0 (content), 3 (signers) and 4 (signature).
struct SignedFiles {
  const OpenFile& content;
  const InputFile &signers, &signature;
};

constexpr const char *signers_in_child = "/proc/self/fd/3", *signature_in_child = "/proc/self/fd/4";

std::pair<std::string, bool> ssh_keygen(std::vector<std::string> arguments,
                                        const SignedFiles& files) {
  arguments.insert(arguments.begin(), {"ssh-keygen", "-Y"});
  arguments.insert(arguments.end(), {"-f", signers_in_child, "-s", signature_in_child});
  const std::vector<int> descriptors{files.content.descriptor(), Child::report, Child::dev_null,
                                     files.signers.descriptor(), files.signature.descriptor()};
  Child child(arguments, descriptors, {"cannot start ssh-keygen", ""});
  const auto [output, status] = child.read_all();
  return {output, status == 0};
}

}  // namespace

std::string signature_fault(const InputFile& content, const std::filesystem::path& signature,
                            const std::filesystem::path& signers) {
  try {
    // reopened, because ssh-keygen reads from the beginning
    const auto bytes = OpenFile::open_any("/proc/self/fd/" + std::to_string(content.descriptor()));
    if (bytes.descriptor() < 0) return "cannot be verified: /proc is not available";
    const InputFile signers_file(signers), signature_file(signature);
    const SignedFiles files{bytes, signers_file, signature_file};
    const auto [found, known] = ssh_keygen({"find-principals"}, files);
    const auto name = found.substr(0, found.find('\n'));
    if (!known || name.empty()) return "was not made with a key that you trust";
    if (!ssh_keygen({"verify", "-n", "tenon-plugin", "-I", name}, files).second)
      return "is not a signature of this content for the namespace tenon-plugin";
    return {};
  } catch (const PluginError& error) {
    return error.what();
  } catch (const Failure& error) {
    return std::string("cannot be verified: ") + error.what();
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t list_size_limit = std::uint64_t{16} << 20;
constexpr const char* signed_for = "namespaces=\"tenon-plugin\"";

fs::path config_folder(const fs::path& config) {
  auto folder = config.empty() ? user_config_folder() : config;
  if (folder.empty())
    throw Failure(FailureKind::usage,
                  "there is no folder for the trust lists: neither XDG_CONFIG_HOME nor HOME is an "
                  "absolute path",
                  "set HOME, or HostOptions::config");
  return folder;
}

fs::path plugins_in(const fs::path& config) {
  return config_folder(config) / "trusted_plugins";
}

fs::path signers_in(const fs::path& config) {
  return config_folder(config) / "trusted_signers";
}

/// Reads a list's lines; none if the file does not exist. Refuses lists that others can write to,
/// because they decide what is loaded.
std::vector<std::string> lines_of(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::string text;
  try {
    const InputFile file(path, "a list");
    if (const auto fault = Trust().fault(path, file); !fault.empty())
      throw file_failure("use the list", path, "it " + fault,
                         "remove other users' write permission (chmod go-w)");
    if (file.size() > list_size_limit)
      throw file_failure("use the list", path, "it is larger than 16 MiB");
    text.resize(static_cast<std::size_t>(file.size()));
    file.read_at(0, std::as_writable_bytes(std::span(text)));
  } catch (const PluginError& fault) {
    throw file_failure("use the list", path, std::string("it ") + fault.what());
  }
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void write_lines(const fs::path& path, const std::vector<std::string>& lines) {
  AtomicFile file(path);
  for (const auto& line : lines) file.write(line + '\n');
  file.restrict_to_user();  // otherwise reading it would be refused
  file.commit();
}

/// Locks the lists, because two concurrent read-modify-write cycles could lose a line. Locks the
/// folder, because writing replaces the files; if folders cannot be locked, there is no lock.
OpenFile lock_lists(const fs::path& list) {
  OpenFile folder(open(list.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (flock(folder.descriptor(), LOCK_EX) != 0 && errno == EINTR) continue;
  return folder;
}

bool is_comment(const std::string& line) {
  return line.find_first_not_of(" \t") == std::string::npos || line[0] == '#';
}

/// Parses `HASH  PATH` or `HASH *PATH`.
TrustedPlugin read_plugin(const std::string& line, const fs::path& list, std::size_t number) {
  constexpr std::size_t digits = 64;
  if (line.size() > digits + 2 && is_sha256(line.substr(0, digits)) && line[digits] == ' ')
    return {line.substr(0, digits), line.substr(digits + 2)};
  throw file_failure("use the list", list,
                     fmt::format("line {} is not a SHA-256 and a path", number),
                     "use the format of sha256sum");
}

std::vector<TrustedPlugin> read_plugins(const fs::path& list) {
  std::vector<TrustedPlugin> plugins;
  std::size_t number = 0;
  for (const auto& line : lines_of(list))
    if (++number; !is_comment(line)) plugins.push_back(read_plugin(line, list, number));
  return plugins;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t begin = line.find_first_not_of(" \t\r"); begin != std::string::npos;) {
    const auto end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(" \t\r", end);
  }
  return words;
}

/// Returns whether an OpenSSH key, `TYPE BASE64`, begins at this word.
bool is_key(const std::vector<std::string>& words, std::size_t at) {
  if (at + 1 >= words.size()) return false;
  const auto& type = words[at];
  const bool known =
      type.starts_with("ssh-") || type.starts_with("ecdsa-") || type.starts_with("sk-");
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  };
  return known && words[at + 1].size() > 16 &&
         std::all_of(words[at + 1].begin(), words[at + 1].end(), is_base64);
}

TrustedSigner read_signer(const std::string& line) {
  const auto words = split_words(line);
  for (std::size_t i = 1; i < words.size(); ++i)
    if (is_key(words, i)) return {words[0], words[i] + ' ' + words[i + 1]};
  return {};
}

/// Returns whether the name is a valid principal of OpenSSH's file, which has lists of patterns: no
/// commas, wildcards or quotes.
bool is_signer_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("@._+-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), is_plain);
}

}  // namespace

TrustLists::TrustLists(const fs::path& config)
    : plugins_file_(plugins_in(config)),
      signers_file_(signers_in(config)),
      installed_(find_next_to_library("plugins")) {}

void TrustLists::read() {
  if (const auto now = FileStamp::of(plugins_file_); now != plugins_stamp_) {
    plugins_ = read_plugins(plugins_file_);
    plugins_stamp_ = now;
  }
  if (const auto now = FileStamp::of(signers_file_); now != signers_stamp_) {
    has_signers_ = !lines_of(signers_file_).empty();
    signers_stamp_ = now;
  }
}

bool TrustLists::is_installed(const fs::path& path) const {
  std::error_code error;
  return !installed_.empty() && fs::canonical(path.parent_path(), error) == installed_ && !error;
}

std::string TrustLists::fault(const fs::path& path, const InputFile& content) {
  if (is_installed(path)) return {};
  read();
  const auto sha256 = sha256_of(content);
  if (std::any_of(plugins_.begin(), plugins_.end(),
                  [&](const TrustedPlugin& plugin) { return plugin.sha256 == sha256; }))
    return {};
  const fs::path signature = path.native() + ".sig";
  std::error_code error;
  const std::string unlisted = "is not on your list of trusted plugins";
  if (!fs::exists(signature, error)) return unlisted + " and has no signature";
  if (!has_signers_) return unlisted + ", and your list of keys is empty";
  const auto fault = signature_fault(content, signature, signers_file_);
  return fault.empty() ? fault
                       : unlisted + ", and its signature " + signature.string() + " " + fault;
}

std::vector<TrustedPlugin> trusted_plugins(const fs::path& config) {
  return read_plugins(plugins_in(config));
}

TrustedPlugin trust_plugin(const fs::path& file, const fs::path& config) {
  TrustedPlugin plugin{.sha256 = {}, .path = fs::absolute(file).lexically_normal()};
  try {
    plugin.sha256 = sha256_of(InputFile(plugin.path));
  } catch (const PluginError& fault) {
    throw Failure(FailureKind::file, plugin.path.string() + " " + fault.what());
  }
  const auto list = plugins_in(config);
  create_user_folder(list.parent_path());
  const auto lock = lock_lists(list);
  for (const auto& known : read_plugins(list))
    if (known.sha256 == plugin.sha256) return known;
  auto lines = lines_of(list);
  lines.push_back(plugin.sha256 + "  " + printable(plugin.path.native()));
  write_lines(list, lines);
  return plugin;
}

std::vector<TrustedPlugin> distrust_plugin(const std::string& path_or_sha256,
                                           const fs::path& config) {
  const auto list = plugins_in(config);
  const auto path = printable(fs::absolute(path_or_sha256).lexically_normal().native());
  const auto lock = lock_lists(list);
  std::vector<TrustedPlugin> removed;
  std::vector<std::string> remaining;
  std::size_t number = 0;
  for (const auto& line : lines_of(list)) {
    ++number;
    const auto plugin = is_comment(line) ? TrustedPlugin() : read_plugin(line, list, number);
    if (!plugin.sha256.empty() && (plugin.sha256 == path_or_sha256 || plugin.path == path))
      removed.push_back(plugin);
    else
      remaining.push_back(line);
  }
  if (!removed.empty()) write_lines(list, remaining);
  return removed;
}

std::vector<TrustedSigner> trusted_signers(const fs::path& config) {
  std::vector<TrustedSigner> signers;
  for (const auto& line : lines_of(signers_in(config)))
    if (auto signer = is_comment(line) ? TrustedSigner() : read_signer(line); !signer.key.empty())
      signers.push_back(std::move(signer));
  return signers;
}

TrustedSigner trust_signer(const fs::path& public_key, const std::string& name,
                           const fs::path& config) {
  std::string text(std::size_t{1} << 14, '\0');
  try {
    const InputFile file(public_key, "a public key");
    text.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), text.size())));
    file.read_at(0, std::as_writable_bytes(std::span(text)));
  } catch (const PluginError& fault) {
    throw Failure(FailureKind::file, public_key.string() + " " + fault.what());
  }
  const auto words = split_words(text.substr(0, text.find('\n')));
  if (!is_key(words, 0))
    throw Failure(FailureKind::file, public_key.string() + " is not an OpenSSH public key",
                  "create a key with ssh-keygen -t ed25519; the public key is the file NAME.pub");
  TrustedSigner signer{!name.empty()      ? name
                       : words.size() > 2 ? words[2]
                                          : public_key.stem().string(),
                       words[0] + ' ' + words[1]};
  if (!is_signer_name(signer.name))
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' cannot be a key's name: only letters, digits and @._+- are allowed",
                    printable(signer.name)),
        "give it another name");
  const auto list = signers_in(config);
  create_user_folder(list.parent_path());
  const auto lock = lock_lists(list);
  for (const auto& known : trusted_signers(config))
    if (known.key == signer.key) return known;
  auto lines = lines_of(list);
  lines.push_back(fmt::format("{} {} {}", signer.name, signed_for, signer.key));
  write_lines(list, lines);
  return signer;
}

std::vector<TrustedSigner> distrust_signer(const std::string& name, const fs::path& config) {
  const auto list = signers_in(config);
  const auto lock = lock_lists(list);
  std::vector<TrustedSigner> removed;
  std::vector<std::string> remaining;
  for (const auto& line : lines_of(list)) {
    auto signer = is_comment(line) ? TrustedSigner() : read_signer(line);
    if (!signer.key.empty() && signer.name == name)
      removed.push_back(std::move(signer));
    else
      remaining.push_back(line);
  }
  if (!removed.empty()) write_lines(list, remaining);
  return removed;
}

}  // namespace tenon
