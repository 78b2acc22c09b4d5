#include "plugin/discovery/plugin_symbols.hpp"

#include <tenon/abi.h>

#include <charconv>
#include <map>
#include <string_view>
#include <tuple>

#include "io/utf8.hpp"

namespace tenon {
namespace {

/// tenon_WORD_vMAJOR, optionally followed by __REST.
struct SymbolName {
  std::string_view prefix, rest;
  int major = 0;
};

std::optional<SymbolName> parse(std::string_view name) {
  name.remove_prefix(std::string_view("tenon_").size());
  const auto version = name.find("_v");
  if (version == std::string_view::npos) return std::nullopt;
  SymbolName parsed{name.substr(0, version), {}, 0};
  const std::string_view digits = name.substr(version + 2);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.major);
  if (error != std::errc() || parsed.major < 1) return std::nullopt;
  parsed.rest = digits.substr(static_cast<std::size_t>(end - digits.data()));
  if (parsed.rest.empty()) return parsed;
  if (!parsed.rest.starts_with("__")) return std::nullopt;
  parsed.rest.remove_prefix(2);
  return parsed;
}

bool is_known_prefix(std::string_view prefix) {
  return prefix == "op" || prefix == "get" || prefix == "kernel" || prefix == "variant" ||
         prefix == "plugin";
}

using Operators = std::map<std::string, PluginSymbols::Operator>;

void sort_in(const SymbolName& name, const ElfSymbol& symbol, Operators& operators,
             PluginSymbols& symbols) {
  if (name.prefix == "plugin") {
    if (name.rest.empty()) symbols.record = symbol;
  } else if (name.prefix == "kernel" || name.prefix == "variant") {
    const auto between = name.rest.find("__");
    if (between == std::string_view::npos) return;
    std::string_view device = name.rest.substr(0, between), op = name.rest.substr(between + 2),
                     variant;
    if (name.prefix == "variant") {
      const auto last = op.rfind("__");
      if (last == std::string_view::npos || !is_identifier(op.substr(last + 2))) return;
      variant = op.substr(last + 2), op = op.substr(0, last);
    }
    if (is_identifier(device) && is_identifier(op))
      symbols.kernels.push_back(
          {std::string(op), std::string(device), std::string(variant), symbol});
  } else if (is_identifier(name.rest)) {
    PluginSymbols::Operator& op = operators[std::string(name.rest)];
    (name.prefix == "op" ? op.manifest : op.getter) = symbol;
  }
}

}  // namespace

std::string kernel_symbol(const KernelInfo& kernel) {
  const auto target = kernel.device + "__" + kernel.op;
  return kernel.variant.empty() ? TENON_KERNEL_SYMBOL_PREFIX + target
                                : TENON_VARIANT_SYMBOL_PREFIX + target + "__" + kernel.variant;
}

PluginSymbols read_plugin_symbols(const ElfFile& elf) {
  PluginSymbols symbols;
  Operators operators;
  for (const ElfSymbol& symbol : elf.exports("tenon_")) {
    const auto name = parse(symbol.name);
    if (!name || !is_known_prefix(name->prefix)) continue;
    if (name->major != TENON_ABI_MAJOR) {
      symbols.other_majors.insert(name->major);
    } else {
      sort_in(*name, symbol, operators, symbols);
    }
  }
  for (auto& [name, op] : operators) {
    op.name = name;
    symbols.operators.push_back(std::move(op));
  }
  std::sort(symbols.kernels.begin(), symbols.kernels.end(),
            [](const auto& left, const auto& right) {
              return std::tie(left.op, left.device, left.variant) <
                     std::tie(right.op, right.device, right.variant);
            });
  return symbols;
}

}  // namespace tenon
