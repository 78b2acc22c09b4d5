// A shared object's Tenon symbols, sorted by kind.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "plugin/discovery/elf_file.hpp"

namespace tenon {

struct PluginSymbols {
  struct Operator {
    std::string name;
    ElfSymbol manifest, getter;  // a getter with an empty name is missing
  };
  struct Kernel {
    std::string op, device, variant;  // variant: its class; empty for the plain kernel
    ElfSymbol getter;
  };
  std::vector<Operator> operators;  // sorted by name
  std::vector<Kernel> kernels;      // sorted by operator, device and variant
  std::optional<ElfSymbol> record;  // tenon_plugin_v1
  std::set<int> other_majors;       // major ABI versions of the symbols that this host lacks

  bool empty() const { return operators.empty() && kernels.empty(); }
};

/// Returns the name of the function that returns a kernel's table.
std::string kernel_symbol(const KernelInfo& kernel);

/// Throws PluginError if the file is broken. Ignores symbols that begin like Tenon's but match no
/// pattern.
PluginSymbols read_plugin_symbols(const ElfFile& elf);

}  // namespace tenon
