// Packs: a graph with the plugins that it needs, in one file that is opened only by its hash.
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
  /// Further files to lie beside the plugins: what these open by themselves.
  std::vector<std::filesystem::path> with{};
  std::uint64_t seed = 0;  ///< of variables without elements, as in Graph::save()
};

struct PackMember {
  std::string name;  ///< `graph.tenon`, `plugins/acme.so`
  std::uint64_t size = 0;
  std::string sha256;
};

struct SavedPack {
  std::string sha256;  ///< of the whole file, in hexadecimal: what who opens it must say
  std::vector<PackMember> members;
};

/// Writes the graph, the plugins that its host loaded for it or that have kernels of its operators, but for those that come with Tenon,
/// their signatures (.sig), and the libraries that they find beside themselves ($ORIGIN). The file is a zip archive that compresses
/// nothing, whole or not there; the same graph and plugins give the same bytes. Binds the graph. Throws Failure, also for operators of the
/// application, which no plugin has.
TENON_API SavedPack save_pack(Graph& graph, const std::filesystem::path& path, const PackOptions& options = {});

/// Whether the file begins as a pack does. False for what cannot be read.
TENON_API bool is_pack(const std::filesystem::path& path);

/// Who says which pack is meant, and where this user's folders are.
struct PackTrust {
  std::string sha256{};  ///< of the file, with or without `sha256:` before it; empty: one on the list of trusted_plugins() will do
  std::filesystem::path config{};  ///< of that list, as in HostOptions
  std::filesystem::path cache{};   ///< where packs are unpacked, as in HostOptions
};

/// The SHA-256 of the file. Throws Failure (file) unless the user trusts it; nothing of it is looked at before.
TENON_API std::string require_trusted_pack(const std::filesystem::path& path, const PackTrust& trust);

struct OpenedPack {
  std::string sha256;
  std::filesystem::path graph;                 ///< a .tenon file
  std::vector<std::filesystem::path> plugins;  ///< for Host::add_plugins()
};

/// Unpacks a trusted pack to `packs/SHA256` in the cache, which is this user's alone: once on a machine, however many processes ask. What
/// is checked is a copy, so that nobody changes it meanwhile. Throws Failure (file) for a pack that is not trusted or not sound.
TENON_API OpenedPack open_pack(const std::filesystem::path& path, const PackTrust& trust = {});

/// Its graph, with its plugins added to the host.
TENON_API Graph load_pack(Host& host, const std::filesystem::path& path, const PackTrust& trust = {}, const LoadOptions& options = {});

}  // namespace tenon
