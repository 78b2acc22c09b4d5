// Packs: a graph and the plugins that it needs in one file, which opens only with its hash.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/graph.hpp>
#include <vector>

namespace tenon {

class Host;

struct PackOptions {
  /// Additional files to place next to the plugins, which open them themselves.
  std::vector<std::filesystem::path> with{};
  std::uint64_t seed = 0;  ///< seed for variables without elements, as in Graph::save()
};

struct PackMember {
  std::string name;  ///< `graph.tenon`, `plugins/acme.so`
  std::uint64_t size = 0;
  std::string sha256;
};

struct SavedPack {
  std::string sha256;  ///< of the whole file, in hexadecimal; needed to open the pack
  std::vector<PackMember> members;
};

/// Writes a pack: the graph, the plugins that its host loaded for it or that have kernels of its
/// operators, except for those that come with Tenon, their signatures (.sig), and the libraries
/// that they find next to themselves ($ORIGIN). The file is an uncompressed zip archive, written
/// atomically; the same graph and plugins give the same bytes. Binds the graph. Throws Failure,
/// also for operators of the application, which are in no plugin.
TENON_API SavedPack save_pack(Graph& graph, const std::filesystem::path& path,
                              const PackOptions& options = {});

/// Whether the file begins like a pack. False if it cannot be read.
TENON_API bool is_pack(const std::filesystem::path& path);

/// How a pack is trusted, and the user's folders.
struct PackTrust {
  std::string sha256{};  ///< of the file, with or without the prefix `sha256:`; empty: any pack on
                         ///< the list of trusted_plugins()
  std::filesystem::path config{};  ///< the folder of that list, as in HostOptions
  std::filesystem::path cache{};   ///< the folder to unpack to, as in HostOptions
};

/// Returns the SHA-256 of the file. Throws Failure (file) unless the user trusts it; nothing else
/// of the file is read before.
TENON_API std::string require_trusted_pack(const std::filesystem::path& path,
                                           const PackTrust& trust);

struct OpenedPack {
  std::string sha256;
  std::filesystem::path graph;                 ///< a .tenon file
  std::vector<std::filesystem::path> plugins;  ///< for Host::add_plugins()
};

/// Unpacks a trusted pack to `packs/SHA256` in the cache, which belongs to this user only: once per
/// machine, however many processes open it. Verifies a private copy, which cannot change meanwhile.
/// Throws Failure (file) for a pack that is untrusted or invalid.
TENON_API OpenedPack open_pack(const std::filesystem::path& path, const PackTrust& trust = {});

/// Opens a pack, adds its plugins to the host, and loads its graph.
TENON_API Graph load_pack(Host& host, const std::filesystem::path& path,
                          const PackTrust& trust = {}, const LoadOptions& options = {});

}  // namespace tenon
