// Reads a shared object as a file: its exports and the bytes at an address. Nothing in it is run or
// trusted: offsets, counts and names are checked against the file, so any file may be passed.
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
  /// Throws PluginError: not a plugin (not a shared object, or a broken one) or wrong machine.
  /// `file` must outlive this object.
  explicit ElfFile(const InputFile& file);

  /// Returns visible symbols of the dynamic symbol table whose names begin with `prefix`.
  std::vector<ElfSymbol> exports(std::string_view prefix) const;

  /// Returns whether it imports a symbol whose name begins with `prefix`.
  bool imports(std::string_view prefix) const;
  /// Returns whether it exports a symbol with this name, or whose name begins with `prefix`.
  bool defines(std::string_view name) const;
  bool defines_any(std::string_view prefix) const;

  /// Location of the dynamic section in the file; it lies entirely in the file. Size 0 if there is
  /// none.
  struct FileRange {
    std::uint64_t offset = 0, size = 0;
  };
  FileRange dynamic_section() const { return dynamic_; }

  /// Returns the symbol's bytes as the loader would map them, before relocation. Throws PluginError
  /// (broken manifest) if they are not in the file or exceed `limit`.
  std::vector<std::byte> bytes(const ElfSymbol& symbol, std::uint64_t limit) const;

  /// Returns the dynamic section's entries, including those after its end; empty if there is no
  /// such section.
  std::vector<Elf64_Dyn> dynamic_entries() const;
  /// Returns the strings of entries with a tag such as DT_NEEDED, in file order.
  std::vector<std::string> dynamic_texts(std::int64_t tag) const;
  /// Returns the string at the offset in a dynamic entry; empty if it lies outside the string
  /// table.
  std::string_view text_at(std::uint64_t offset) const { return name_at(offset, text_limit); }

  /// Returns the names of all visible symbols.
  std::vector<std::string_view> visible_names() const;
  /// A symbol that is unique in the process (STB_GNU_UNIQUE), and the file offset of its
  /// Elf64_Sym::st_info.
  struct UniqueSymbol {
    std::string_view name;
    std::uint64_t info_offset;
    unsigned char info;
  };
  std::vector<UniqueSymbol> unique_symbols() const;

  /// Returns whether the symbol's address is in an executable segment.
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
  template <class Predicate>
  bool has_symbol(const Predicate& matches) const;

  std::vector<Segment> segments_;
  FileRange dynamic_;
  Elf_Data* symbols_ = nullptr;  // owned by elf_; null if there is no table
  std::string_view names_;       // the string table, owned by elf_
  std::uint64_t symbol_count_ = 0, symbols_offset_ = 0;
};

/// Throws PluginError: not a plugin, or wrong machine.
void check_elf_header(const InputFile& file);

}  // namespace tenon
