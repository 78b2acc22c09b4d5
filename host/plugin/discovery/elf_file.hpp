// A shared object as bytes in a file: what it exports and what stands at an address. Nothing of it is run, nothing in it is believed:
// offsets, counts and names are all checked against the file, so any file at all may be given.
#pragma once
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

struct ElfSymbol {
  std::string name;
  std::uint64_t address = 0, size = 0;
  bool is_function = false;
};

class ElfFile {
 public:
  /// Throws PluginError: not a plugin (no shared object, or a broken one) or wrong machine. `file` must outlive this.
  explicit ElfFile(const InputFile& file);

  /// Symbols of the dynamic symbol table that others can see and whose names begin with `prefix`.
  std::vector<ElfSymbol> exports(std::string_view prefix) const;

  /// Whether it needs a symbol from elsewhere whose name begins so.
  bool imports(std::string_view prefix) const;
  /// Whether others can see a symbol of it that has this name, or whose name begins so.
  bool defines(std::string_view name) const;
  bool defines_any(std::string_view prefix) const;

  /// Where the loader finds the dynamic section in the file; all of it lies in the file. Size 0: nowhere.
  struct Place {
    std::uint64_t offset = 0, size = 0;
  };
  Place dynamic_section() const { return dynamic_; }

  /// The symbol's bytes, as the loader would put them into memory (relocations aside). Throws PluginError (broken manifest) where they are
  /// not in the file, or are more than `limit`.
  std::vector<std::byte> bytes(const ElfSymbol& symbol, std::uint64_t limit) const;

  /// The dynamic section's entries, those after its end included; empty if it has no such section.
  std::vector<Elf64_Dyn> dynamic_entries() const;
  /// What the dynamic section says under a tag that stands for a text, like DT_NEEDED; in the file's order.
  std::vector<std::string> dynamic_texts(std::int64_t tag) const;
  /// The text that a dynamic entry's value stands for; empty if it lies outside of the file's texts.
  std::string_view text_at(std::uint64_t offset) const { return name_at(offset, text_limit); }

  /// Names of all symbols that others can see.
  std::vector<std::string_view> visible_names() const;
  /// A symbol that is one for the whole process (STB_GNU_UNIQUE), and where its Elf64_Sym::st_info lies in the file.
  struct UniqueSymbol {
    std::string_view name;
    std::uint64_t info_offset;
    unsigned char info;
  };
  std::vector<UniqueSymbol> unique_symbols() const;

  /// Whether the symbol's address can be run as code.
  bool is_code(const ElfSymbol& symbol) const;

 private:
  struct Segment {
    std::uint64_t address, offset, size;
    bool executable;
  };
  struct Close {
    void operator()(Elf* elf) const;
  };

  void read_segments();
  void find_symbol_table();
  static constexpr std::size_t name_limit = 512, text_limit = 1 << 16;
  std::string_view name_at(std::uint64_t offset, std::size_t limit = name_limit) const;

  const InputFile& file_;
  std::unique_ptr<Elf, Close> elf_;
  template <class Wanted>
  bool has_symbol(const Wanted& wanted) const;

  std::vector<Segment> segments_;
  Place dynamic_;
  Elf_Data* symbols_ = nullptr;  // owned by elf_; null where there is no table
  std::string_view names_;       // the string table, also elf_'s
  std::uint64_t symbol_count_ = 0, symbols_offset_ = 0;
};

}  // namespace tenon
