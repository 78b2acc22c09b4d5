#include "plugin/loading/own_symbols.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <vector>

#include "plugin/discovery/elf_file.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

constexpr std::size_t entry_limit = 4096;

bool brings_allocator(const ElfFile& elf) {
  for (const char* name : {"malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign"})
    if (elf.defines(name)) return true;
  for (const char* prefix : {"_Znw", "_Zna", "_Zdl", "_Zda"})  // operator new and delete
    if (elf.defines_any(prefix)) return true;
  return false;
}

/// Which entry is to become which; none where there is nothing to change.
struct Change {
  std::size_t place;
  Elf64_Dyn entry;
};

std::vector<Change> change_of(const std::vector<Elf64_Dyn>& entries) {
  std::vector<Change> in_place_of_a_hint;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto entry = entries[i];
    if (entry.d_tag == DT_SYMBOLIC) return {};
    if (entry.d_tag == DT_FLAGS) {
      entry.d_un.d_val |= DF_SYMBOLIC;
      return {{i, entry}};
    }
    const Elf64_Dyn symbolic{DT_SYMBOLIC, {0}};
    if (entry.d_tag == DT_RELACOUNT) in_place_of_a_hint = {{i, symbolic}};  // which only makes loading faster
    if (entry.d_tag != DT_NULL) continue;
    const bool has_room = i + 1 < entries.size() && entries[i + 1].d_tag == DT_NULL;  // another end behind this one
    return has_room ? std::vector<Change>{{i, symbolic}} : in_place_of_a_hint;
  }
  return {};
}

}  // namespace

void prefer_own_symbols(int descriptor, const InputFile& copy) {
  try {
    const ElfFile elf(copy);
    const auto section = elf.dynamic_section();
    if (section.size == 0 || brings_allocator(elf)) return;
    std::vector<Elf64_Dyn> entries(std::min<std::size_t>(section.size / sizeof(Elf64_Dyn), entry_limit));
    copy.read_at(section.offset, std::as_writable_bytes(std::span(entries)));
    for (const auto& [place, entry] : change_of(entries)) {
      const auto at = section.offset + place * sizeof entry;
      [[maybe_unused]] const auto written = pwrite(descriptor, &entry, sizeof entry, static_cast<off_t>(at));
    }
  } catch (const PluginError&) {
    // whoever loads it says what is wrong with it
  }
}

}  // namespace tenon
