#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tenon/host/host.hpp>
#include <tenon/host/pack.hpp>

#include "file/array/zip_format.hpp"
#include "file/array/zip_reader.hpp"
#include "io/open_file.hpp"
#include "io/sha256.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"
#include "pack/pack_list.hpp"
#include "plugin/library_location.hpp"
#include "run/host_impl.hpp"
#include "run/impl_access.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_list_bytes = std::uint64_t{16} << 20;

/// A new, read-only file that only this user can access.
class NewFile {
 public:
  explicit NewFile(fs::path path)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0400)) {
    if (file_.descriptor() < 0) throw write_failure(path_, errno);
  }
  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const auto written = ::write(file_.descriptor(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw write_failure(path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  /// The folder's rename is durable, so its files' contents must be, too.
  void sync() const {
    if (::fsync(file_.descriptor()) != 0) throw write_failure(path_, errno);
  }

 private:
  fs::path path_;
  OpenFile file_;
};

/// Makes a folder that only this user can write to. Throws if it is not.
void make_own_folder(const fs::path& folder) {
  if (!create_user_folder(folder)) throw write_failure(folder, errno);
  const auto opened =
      OpenFile(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (opened.descriptor() < 0 || ::fstat(opened.descriptor(), &status) != 0)
    throw write_failure(folder, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw file_failure("use", folder, "other users may write to it, but packs are unpacked there",
                       "run chmod go-w, or choose another cache folder");
}

fs::path packs_folder(const fs::path& cache) {
  const auto folder = cache.empty() ? user_cache_folder() : cache;
  if (folder.empty())
    throw Failure(FailureKind::usage,
                  "there is no folder to unpack packs to: neither XDG_CACHE_HOME nor HOME is an "
                  "absolute path",
                  "set HOME or HostOptions::cache");
  auto packs = folder / "packs";
  make_own_folder(packs);
  return packs;
}

/// An archive with a trusted hash. It may still be wrong, by mistake or because its author is
/// malicious.
class Pack {
 public:
  Pack(const fs::path& archive, std::string display_name)
      : zip_(archive), display_name_(std::move(display_name)) {
    const auto& members = zip_.members();
    if (members.empty() || members[0].name != pack_list_name)
      refuse("its first member is not pack.json");
    for (const auto& member : members) {
      const auto type = member.attributes >> 16 & S_IFMT;
      if (type != 0 && type != S_IFREG)
        refuse(fmt::format("its member {} is not a regular file", member.name));
      if ((member.flags & zip::encrypted_flag) != 0 || member.method != zip::stored ||
          member.size != member.stored_size)
        refuse(fmt::format("its member {} is compressed or encrypted", member.name));
      if (!by_name_.emplace(member.name, &member).second)
        refuse(fmt::format("its member {} occurs twice", member.name));
    }
    if (members[0].size > max_list_bytes) refuse("its pack.json is larger than 16 MiB");
    text_.resize(static_cast<std::size_t>(members[0].size));
    zip_.read(members[0], label_of(pack_list_name), std::as_writable_bytes(std::span(text_)));
    list_ = read_pack_list(text_, label_of(pack_list_name));
    if (list_.members.size() + 1 != members.size())
      refuse("its members differ from those listed in pack.json");
    for (const auto& member : list_.members) {
      const auto found = by_name_.find(member.name);
      if (found == by_name_.end())
        refuse(fmt::format("its pack.json lists {}, which is missing", member.name));
      if (found->second->size != member.size)
        refuse(fmt::format("{} has {} bytes but pack.json says {}", member.name,
                           found->second->size, member.size));
    }
  }

  void unpack(const fs::path& folder) const {
    make_own_folder(folder / "plugins");
    for (const auto& member : list_.members) {
      const NewFile file(folder / member.name);
      Sha256 sum;
      zip_.read_stored(*by_name_.find(member.name)->second, label_of(member.name),
                       [&](std::span<const std::byte> bytes) {
                         sum.add(bytes);
                         file.write(bytes);
                       });
      if (sum.hexadecimal() != member.sha256)
        refuse(fmt::format("the hash of {} does not match its pack.json", member.name));
      file.sync();
    }
    const NewFile file(folder / pack_list_name);
    file.write(std::as_bytes(std::span(text_)));
    file.sync();
  }

 private:
  std::string label_of(const std::string& member) const {
    return fmt::format("{}:{}", display_name_, member);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw file_failure("open the pack", display_name_, why);
  }

  ZipReader zip_;
  std::string display_name_, text_;
  std::map<std::string_view, const ZipMember*> by_name_;
  PackList list_;
};

/// The list of the pack unpacked in `folder`; nullopt if the folder or a file in it is missing or
/// truncated, because users clear caches.
std::optional<PackList> read_unpacked(const fs::path& folder) {
  const auto path = folder / pack_list_name;
  std::string text;
  try {
    sum_of_pack(path, [&](std::span<const std::byte> bytes) {
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    auto list = read_pack_list(text, path.string());
    std::error_code error;
    for (const auto& member : list.members)
      if (fs::file_size(folder / member.name, error) != member.size) return {};
    return list;
  } catch (const Failure&) {
    return {};
  }
}

/// Unpacks a copy, so that the bytes that were checked are the bytes that are unpacked. A killed
/// process leaves its work folder, which the next one removes.
void unpack(const fs::path& path, const std::string& sum, const fs::path& folder) {
  const auto work = folder.parent_path() / ("new-" + sum);
  std::error_code error;
  fs::remove_all(work, error);
  fs::remove_all(folder, error);
  const struct Clearing {
    const fs::path& work;
    ~Clearing() {
      std::error_code ignored;
      fs::remove_all(work, ignored);
    }
  } clearing{work};
  make_own_folder(work / "content");
  {
    const NewFile copy(work / "pack");
    const auto copied =
        sum_of_pack(path, [&](std::span<const std::byte> bytes) { copy.write(bytes); });
    if (copied != sum) throw file_failure("open the pack", path, "it changed while it was copied");
  }
  Pack(work / "pack", path.string()).unpack(work / "content");
  if (::rename((work / "content").c_str(), folder.c_str()) != 0) throw write_failure(folder, errno);
}

}  // namespace

OpenedPack open_pack(const fs::path& path, const PackTrust& trust) {
  const auto sum = require_trusted_pack(path, trust);
  const auto packs = packs_folder(trust.cache), folder = packs / sum;
  auto list = read_unpacked(folder);
  if (!list) {
    const OpenFile locked(::open(packs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (::flock(locked.descriptor(), LOCK_EX) != 0 && errno == EINTR) continue;
    list = read_unpacked(folder);  // another process may have unpacked it meanwhile
    if (!list) unpack(path, sum, folder), list = read_unpacked(folder);
    if (!list)
      throw file_failure("open the pack", path,
                         "it was unpacked to " + folder.string() + ", but files there are missing");
  }
  OpenedPack opened{sum, folder / pack_graph_name, {}};
  for (const auto& plugin : list->plugins) opened.plugins.push_back(folder / plugin);
  return opened;
}

Graph load_pack(Host& host, const fs::path& path, const PackTrust& trust,
                const LoadOptions& options) {
  auto settings = trust;
  const auto& chosen = impl_of(host).options;
  if (settings.cache.empty()) settings.cache = chosen.cache;
  if (settings.config.empty()) settings.config = chosen.config;
  const auto opened = open_pack(path, settings);
  for (const auto& plugin : opened.plugins) host.add_plugins(plugin);
  return Graph::load(host, opened.graph, options);
}

}  // namespace tenon
