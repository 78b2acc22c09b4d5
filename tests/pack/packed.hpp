// A graph with its own plugin, which needs bundled libraries; the contents of packs in these tests.
#pragma once
#include <filesystem>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/host/pack.hpp>

#include "../built.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "io/sha256.hpp"

namespace fs = std::filesystem;

inline std::string sum_of_text(const std::string& text) {
  tenon::Sha256 sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.hexadecimal();
}

struct Packed {
  Packed() : host(options()) {
    host.add_plugins(built("plugins"));
    for (const auto* name : {"needs_beside.so", "libbeside.so", "libbelow.so"})
      fs::copy_file(fs::path(TENON_TEST_FAULTS) / "beside" / name, folder / name);
    host.add_plugins(folder / "needs_beside.so");
  }
  tenon::HostOptions options() const {
    tenon::HostOptions options;
    options.search_defaults = false;
    options.cache = folder / "cache";
    options.config = folder / "config";
    return options;
  }
  tenon::Graph graph() {
    tenon::Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {-1, 2});
    graph.output("y", graph.add("relu", {graph.add("needs_beside", {x}, {}, "a")}));
    return graph;
  }
  tenon::SavedPack save(const std::string& name, const tenon::PackOptions& more = {}) {
    auto made = graph();
    return tenon::save_pack(made, folder / name, more);
  }
  tenon::PackTrust trust(const std::string& hash = {}) const {
    return {hash, folder / "config", folder / "cache"};
  }
  fs::path unpacked() const { return folder / "cache/packs"; }

  TemporaryFolder folder;
  tenon::Host host;
};
