#include "operator_manifest.hpp"

#include <dlfcn.h>
#include <link.h>
#include <tenon/abi.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace {

/// Decodes the object's bytes; the symbol has their size.
nlohmann::json decode(void* library, const std::string& symbol) {
  const void* const address = dlsym(library, symbol.c_str());
  Dl_info info;
  ElfW(Sym)* entry = nullptr;
  if (!address || !dladdr1(address, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) ||
      !entry)
    throw std::runtime_error("there is no " + symbol);
  const auto* const bytes = static_cast<const std::uint8_t*>(address);
  return nlohmann::json::from_cbor(bytes, bytes + entry->st_size);
}

int position(const nlohmann::json& entries, const nlohmann::json& name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry["name"] == name; });
  return found == entries.end() ? -1 : static_cast<int>(found - entries.begin());
}

std::vector<bool> reads(const nlohmann::json& entries, const nlohmann::json& names) {
  std::vector<bool> result;
  for (const auto& entry : entries)
    result.push_back(names.is_null() ||
                     std::find(names.begin(), names.end(), entry["name"]) != names.end());
  return result;
}

}  // namespace

OperatorManifest OperatorManifest::of(void* library, const std::string& op) {
  const auto manifest = decode(library, TENON_MANIFEST_SYMBOL_PREFIX + op);
  const auto &inputs = manifest["inputs"], &outputs = manifest["outputs"];
  OperatorManifest result;
  result.outputs = outputs.size();
  result.states = manifest["states"].size();
  result.accumulates = manifest["accumulates"];
  for (const auto& pair : manifest["inplace"])
    if (position(outputs, pair[1]) == 0) result.forward_in_place = position(inputs, pair[0]);
  for (const auto& pair : manifest["backward_inplace"])
    if (position(outputs, pair[0]) == 0) result.backward_in_place = position(inputs, pair[1]);
  if (!outputs.empty() && outputs[0].contains("count") && outputs[0]["count"].is_string())
    result.count = outputs[0]["count"];
  result.reads_input = reads(inputs, manifest["backward_reads"]);
  result.reads_output = reads(outputs, manifest["backward_reads"]);
  return result;
}
