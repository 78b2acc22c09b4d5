#include "plugin/discovery/candidate.hpp"

#include <tenon/abi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <future>
#include <string_view>
#include <system_error>
#include <tenon/host/failure.hpp>

#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plugin/discovery/elf_file.hpp"
#include "plugin/discovery/plugin_symbols.hpp"
#include "plugin/library_location.hpp"
#include "plugin/operator_name.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t max_manifest_size = std::uint64_t{1}
                                            << 16;  // size of one manifest in bytes
// size of all manifests of a file in bytes
constexpr std::uint64_t manifests_limit = std::uint64_t{8} << 20;

[[noreturn]] void refuse_broken(const std::string& reason) {
  throw PluginError(PluginStatus::broken_manifest, reason);
}

template <std::size_t Size>
std::string fixed_text(const char (&field)[Size], const char* what) {
  std::string text(field, strnlen(field, Size));
  if (!is_plain_text(text))
    refuse_broken(std::string("has a broken tenon_plugin_v1: its ") + what +
                  " is not plain UTF-8 text");
  return text;
}

/// Reads the record in its first form; later versions only append fields. Plugins of every minor
/// version have it, so it is read first.
void read_record(const ElfFile& elf, const ElfSymbol& symbol, PluginFile& file) {
  constexpr std::uint64_t record_limit = 4096;
  const std::vector<std::byte> bytes = elf.bytes(symbol, record_limit);
  // of ABI 1.0; later versions only append fields
  constexpr std::size_t first_size =
      offsetof(tenon_plugin, compiler) + sizeof tenon_plugin{}.compiler;
  tenon_plugin record{};
  if (bytes.size() < first_size)
    refuse_broken("has a broken tenon_plugin_v1: it has " + counted(bytes.size(), "byte"));
  std::memcpy(&record, bytes.data(), std::min(bytes.size(), sizeof record));
  if (record.size < first_size)
    refuse_broken("has a broken tenon_plugin_v1: its size field is " + std::to_string(record.size));
  if (record.abi_major != TENON_ABI_MAJOR) {
    throw PluginError(PluginStatus::other_abi_major,
                      "is built for ABI " + std::to_string(record.abi_major) +
                          "; this host has ABI " + std::to_string(TENON_ABI_MAJOR) +
                          ": build it against this host's SDK");
  }
  file.abi_minor = record.abi_minor;
  file.sdk_version = record.sdk_version;
  file.cuda_version = record.cuda_version;
  if (std::string name = fixed_text(record.name, "name"); !name.empty())
    file.name = std::move(name);
  file.version = fixed_text(record.version, "version");
  file.compiler = fixed_text(record.compiler, "compiler");
  if (record.abi_minor > TENON_ABI_MINOR) {
    throw PluginError(PluginStatus::needs_newer_host,
                      "needs ABI " + std::to_string(TENON_ABI_MAJOR) + "." +
                          std::to_string(record.abi_minor) + "; this host has " +
                          std::to_string(TENON_ABI_MAJOR) + "." + std::to_string(TENON_ABI_MINOR) +
                          ": update Tenon");
  }
}

void check_majors(const PluginSymbols& symbols) {
  if (!symbols.empty()) return;
  if (symbols.other_majors.empty()) {
    throw PluginError(PluginStatus::not_a_plugin,
                      "is a shared object without operators or kernels: it exports no symbol " +
                          std::string(TENON_MANIFEST_SYMBOL_PREFIX) + "NAME");
  }
  throw PluginError(PluginStatus::other_abi_major,
                    "is built for ABI " + std::to_string(*symbols.other_majors.begin()) +
                        "; this host has ABI " + std::to_string(TENON_ABI_MAJOR) +
                        ": build it against this host's SDK");
}

OperatorInfo read_operator(const ElfFile& elf, const PluginSymbols::Operator& symbols) {
  if (symbols.manifest.name.empty())
    refuse_broken("has no manifest for operator '" + symbols.name + "'");
  if (!elf.is_code(symbols.getter)) {
    refuse_broken("has no function " + std::string(TENON_GET_SYMBOL_PREFIX) + symbols.name +
                  " for the operator's manifest");
  }
  const std::vector<std::byte> bytes = elf.bytes(symbols.manifest, max_manifest_size);
  try {
    OperatorInfo info = read_manifest(bytes);
    if (info.name == symbols.name) return info;
    refuse_broken("has a broken manifest of operator '" + symbols.name + "': its name is '" +
                  info.name + "'");
  } catch (const PluginError&) {
    throw;
  } catch (const Failure& failure) {
    refuse_broken("has a broken manifest of operator '" + symbols.name + "': " + failure.what());
  }
}

/// Third-party plugins, and Tenon's plugins outside Tenon's own folder, get a namespace from the
/// plugin's name unless they declare another one.
void settle_space(OperatorInfo& info, Candidate& candidate, bool bundled) {
  const bool reserved =
      info.space == application_space || (info.space == bundled_space && !bundled);
  if (info.own_space && !reserved) return;
  const auto space = space_of_plugin(candidate.file.name);
  if (reserved && candidate.note.empty())
    candidate.note = candidate.file.path.string() + " claims the namespace '" + info.space +
                     "', which is reserved for " +
                     (info.space == bundled_space ? "the plugins installed with Tenon"
                                                  : "operators of the application") +
                     ": its operators get names such as '" + space + "." + info.name + "' instead";
  info.space = space;
  info.own_space = false;
}

void read_operators(const ElfFile& elf, const PluginSymbols& symbols, Candidate& candidate,
                    bool bundled) {
  std::uint64_t total = 0;
  for (const auto& op : symbols.operators) {
    auto info = read_operator(elf, op);
    settle_space(info, candidate, bundled);
    candidate.operators.push_back(std::make_shared<const OperatorInfo>(std::move(info)));
    total += candidate.operators.back()->manifest.size();
    if (total > manifests_limit)
      refuse_broken("has manifests of more than " + std::to_string(manifests_limit) + " bytes");
  }
}

void read_kernels(const ElfFile& elf, const PluginSymbols& symbols) {
  for (const auto& kernel : symbols.kernels) {
    if (!elf.is_code(kernel.getter))
      refuse_broken("has a symbol " + kernel.getter.name + " that is not a function");
  }
}

void list_names(const PluginSymbols& symbols, PluginFile& file) {
  for (const auto& op : symbols.operators) file.operators.push_back(op.name);
  for (const auto& kernel : symbols.kernels)
    file.kernels.push_back({kernel.op, kernel.device, kernel.variant});
}

void read_plugin(const InputFile& input, Candidate& candidate) {
  const ElfFile elf(input);
  const PluginSymbols symbols = read_plugin_symbols(elf);
  check_majors(symbols);
  list_names(symbols, candidate.file);
  if (symbols.record) read_record(elf, *symbols.record, candidate.file);
  read_operators(elf, symbols, candidate, is_bundled(candidate.file.path));
  read_kernels(elf, symbols);
}

}  // namespace

Candidate read_candidate(const std::filesystem::path& path,
                         const std::function<void(const InputFile&)>& admit) {
  Candidate candidate;
  candidate.file.path = path;
  candidate.file.name = path.stem().string();
  try {
    const InputFile file(path);
    candidate.stamp = FileStamp(file.status());
    read_plugin(file, candidate);
    admit(file);
  } catch (const PluginError& error) {
    candidate.operators.clear();
    candidate.file.status = error.status();
    candidate.file.reason = error.what();
  }
  return candidate;
}

namespace {

namespace fs = std::filesystem;

// Readers mostly wait for the disk, so more threads than cores help; for a few files, a thread
// costs more than it saves.
constexpr std::size_t max_readers = 24, files_per_reader = 32;

}  // namespace

std::vector<fs::path> list_plugin_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const fs::path& path = entries->path();
    if (path.extension() == ".so" && path.filename().native()[0] != '.') files.push_back(path);
  }
  if (error) {
    throw Failure(FailureKind::file,
                  "plugin folder '" + folder.string() + "' cannot be read: " +
                      (error == std::errc::no_such_file_or_directory ? "there is no such folder"
                                                                     : error.message()),
                  "use the folder that contains the plugins' .so files");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Candidate> read_candidates(
    const std::vector<fs::path>& files,
    const std::function<void(const fs::path&, const InputFile&)>& admit) {
  std::vector<Candidate> candidates(files.size());
  std::atomic<std::size_t> next = 0;
  const auto read_some = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      candidates[i] =
          read_candidate(files[i], [&](const InputFile& file) { admit(files[i], file); });
    }
  };
  std::vector<std::future<void>> readers;
  const std::size_t count = std::min(max_readers, files.size() / files_per_reader);
  try {
    for (std::size_t i = 1; i < count; ++i)
      readers.push_back(std::async(std::launch::async, read_some));
  } catch (const std::system_error&) {
    // no more threads available: the existing ones do all the work
  }
  read_some();
  for (auto& reader : readers) reader.get();
  return candidates;
}

}  // namespace tenon
