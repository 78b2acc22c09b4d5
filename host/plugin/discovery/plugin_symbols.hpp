// What a shared object exports for Tenon, sorted out by the symbols' names.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugin/discovery/elf_file.hpp"

namespace tenon {

struct PluginSymbols {
  struct Operator {
    std::string name;
    ElfSymbol manifest, getter;  // a getter without a name: there is none
  };
  struct Kernel {
    std::string op, device;
    ElfSymbol getter;
  };
  std::vector<Operator> operators;  // sorted by name
  std::vector<Kernel> kernels;      // sorted by operator and device
  std::optional<ElfSymbol> record;  // tenon_plugin_v1
  std::set<int> other_majors;       // ABI majors other than this host's among the symbols

  bool empty() const { return operators.empty() && kernels.empty(); }
};

/// Throws PluginError where the file is broken. Symbols that begin as Tenon's do but fit no pattern are ignored.
PluginSymbols read_plugin_symbols(const ElfFile& elf);

}  // namespace tenon
