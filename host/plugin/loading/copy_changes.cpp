#include "plugin/loading/copy_changes.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "plugin/discovery/elf_file.hpp"
#include "plugin/loading/needed_libraries.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

bool brings_allocator(const ElfFile& elf) {
  for (const char* name :
       {"malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign"})
    if (elf.defines(name)) return true;
  for (const char* prefix : {"_Znw", "_Zna", "_Zdl", "_Zda"})  // operator new and delete
    if (elf.defines_any(prefix)) return true;
  return false;
}

/// Returns the file's unique symbols that none of the libraries defines.
std::vector<ElfFile::UniqueSymbol> private_unique(
    const ElfFile& elf, const std::vector<std::filesystem::path>& libraries) {
  auto symbols = elf.unique_symbols();
  for (const auto& path : libraries) {
    if (symbols.empty()) break;
    try {
      const InputFile file(path);
      const ElfFile library(file);
      const auto names = library.visible_names();
      const std::set<std::string_view> defined(names.begin(), names.end());
      std::erase_if(symbols, [&](const auto& symbol) { return defined.contains(symbol.name); });
    } catch (const PluginError&) {
      continue;  // the loader reports what is wrong with it
    }
  }
  return symbols;
}

constexpr std::uint64_t max_alignment = std::uint64_t{1} << 30,
                        max_address = std::uint64_t{1} << 46;

std::uint64_t round_up(std::uint64_t number, std::uint64_t step) {
  return (number + step - 1) / step * step;
}

/// Collects changes to a copy's dynamic section and writes them.
class DynamicSectionChange {
 public:
  DynamicSectionChange(int descriptor, const InputFile& copy, const ElfFile& elf)
      : descriptor_(descriptor), copy_(copy), elf_(elf), entries_(elf.dynamic_entries()) {}

  void set_symbolic() {
    const Elf64_Dyn symbolic{DT_SYMBOLIC, {0}};
    Elf64_Dyn* hint = nullptr;  // DT_RELACOUNT only speeds up loading, so it can be overwritten
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      auto& entry = entries_[i];
      if (entry.d_tag == DT_SYMBOLIC) return;
      if (entry.d_tag == DT_FLAGS) {
        entry.d_un.d_val |= DF_SYMBOLIC;
        return;
      }
      if (entry.d_tag == DT_RELACOUNT) hint = &entry;
      if (entry.d_tag != DT_NULL) continue;
      // another terminator follows this one
      const bool has_spare_entry = i + 1 < entries_.size() && entries_[i + 1].d_tag == DT_NULL;
      if (auto* slot = has_spare_entry ? &entry : hint) *slot = symbolic;
      return;
    }
  }

  void expand_run_paths(const std::string& folder) {
    change_texts([&](std::int64_t tag, const std::string& text) {
      return tag == DT_RPATH || tag == DT_RUNPATH ? expand_tokens(text, {{"ORIGIN", folder}})
                                                  : text;
    });
  }

  void replace_needed(const std::map<std::string, std::string>& paths) {
    change_texts([&](std::int64_t tag, const std::string& text) {
      const auto path = tag == DT_NEEDED ? paths.find(text) : paths.end();
      return path == paths.end() ? text : path->second;
    });
  }

  void write() {
    append_texts();
    write_at(elf_.dynamic_section().offset, std::as_bytes(std::span(entries_)));
  }

 private:
  template <class Replace>
  void change_texts(const Replace& replace) {
    for (std::size_t i = 0; i < entries_.size() && entries_[i].d_tag != DT_NULL; ++i) {
      const auto tag = entries_[i].d_tag;
      if (tag != DT_NEEDED && tag != DT_RPATH && tag != DT_RUNPATH) continue;
      const std::string before(elf_.text_at(entries_[i].d_un.d_val));
      if (auto after = replace(tag, before); after != before) new_texts_[i] = std::move(after);
    }
  }

  /// The file has no room for longer strings, so they go into an additional segment at its end,
  /// together with the program header table that lists it.
  void append_texts() {
    const auto texts = std::find_if(entries_.begin(), entries_.end(),
                                    [](const auto& entry) { return entry.d_tag == DT_STRTAB; });
    if (new_texts_.empty() || texts == entries_.end()) return;
    Elf64_Ehdr header;
    copy_.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum + 1 >= PN_XNUM) return;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    copy_.read_at(header.e_phoff, std::as_writable_bytes(std::span(segments)));
    std::uint64_t alignment = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), end = 0;
    for (const auto& segment : segments) {
      if (segment.p_type != PT_LOAD) continue;
      alignment = std::max<std::uint64_t>(alignment, segment.p_align);
      end = std::max<std::uint64_t>(end, segment.p_vaddr + segment.p_memsz);
    }
    // no linker produces such files
    if (!std::has_single_bit(alignment) || alignment > max_alignment || end > max_address) return;
    const auto offset = round_up(copy_.size(), alignment), address = round_up(end, alignment);
    std::string text;
    const auto table_size = (segments.size() + 1) * sizeof(Elf64_Phdr);
    for (const auto& [entry, its] : new_texts_) {
      entries_[entry].d_un.d_val = address + table_size + text.size() - texts->d_un.d_ptr;
      text += its + '\0';
    }
    const auto size = table_size + text.size();
    segments.push_back({PT_LOAD, PF_R, offset, address, address, size, size, alignment});
    for (auto& segment : segments)
      if (segment.p_type == PT_PHDR)
        segment = {PT_PHDR, PF_R,       offset,     address,
                   address, table_size, table_size, segment.p_align};
    header.e_phoff = offset;
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
    write_at(offset, std::as_bytes(std::span(segments)));
    write_at(offset + table_size, std::as_bytes(std::span(text)));
    write_at(0, std::as_bytes(std::span(&header, 1)));
  }

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
    if (pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(bytes.size()))
      throw PluginError(PluginStatus::not_loadable, "cannot be copied for loading: out of memory");
  }

  const int descriptor_;
  const InputFile& copy_;
  const ElfFile& elf_;
  std::vector<Elf64_Dyn> entries_;
  std::map<std::size_t, std::string> new_texts_;  // by entry index
};

void change(int descriptor, const InputFile& copy, const ElfFile& elf, const CopyChanges& changes) {
  DynamicSectionChange change(descriptor, copy, elf);
  if (changes.search_itself_first && !brings_allocator(elf)) change.set_symbolic();
  if (!changes.origin.empty()) change.expand_run_paths(changes.origin.string());
  change.replace_needed(changes.needed);
  change.write();
  if (!changes.localize_unique) return;
  for (const auto& symbol : private_unique(elf, changes.shared_with)) {
    const auto info =
        static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbol.info)));
    if (pwrite(descriptor, &info, 1, static_cast<off_t>(symbol.info_offset)) != 1)
      throw PluginError(PluginStatus::not_loadable, "cannot be copied for loading: out of memory");
  }
}

}  // namespace

void change_copy(int descriptor, const InputFile& copy, const CopyChanges& changes) {
  std::optional<ElfFile> elf;
  try {
    elf.emplace(copy);
    if (elf->dynamic_section().size == 0) return;
  } catch (const PluginError&) {
    return;  // loading it reports what is wrong with it
  }
  change(descriptor, copy, *elf, changes);
}

std::vector<std::string> private_unique_symbols(const std::filesystem::path& plugin) {
  const InputFile file(plugin);
  const ElfFile elf(file);
  std::vector<std::filesystem::path> libraries;
  const auto found = find_needed_libraries(file, plugin.parent_path());
  std::transform(found.begin() + 1, found.end(), std::back_inserter(libraries),
                 [](const auto& library) { return library.path; });
  std::vector<std::string> names;
  for (const auto& symbol : private_unique(elf, libraries)) names.emplace_back(symbol.name);
  return names;
}

}  // namespace tenon
