// What a shared object exports for Tenon, sorted out by the symbols' names.
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
    ElfSymbol manifest, getter;  // a getter without a name: there is none
  };
  struct Kernel {
    std::string op, device, variant;  // variant: its class; empty: the one kernel
    ElfSymbol getter;
  };
  std::vector<Operator> operators;  // sorted by name
  std::vector<Kernel> kernels;      // sorted by operator, device and variant
  std::optional<ElfSymbol> record;  // tenon_plugin_v1
  std::set<int> other_majors;       // ABI majors other than this host's among the symbols

  bool empty() const { return operators.empty() && kernels.empty(); }
};

/// The name of the function that returns a kernel's table.
std::string kernel_symbol(const KernelInfo& kernel);

/// Throws PluginError where the file is broken. Symbols that begin as Tenon's do but fit no pattern are ignored.
PluginSymbols read_plugin_symbols(const ElfFile& elf);

}  // namespace tenon
