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

  /// What the dynamic section says under a tag that stands for a text, like DT_NEEDED; in the file's order.
  std::vector<std::string> dynamic_texts(std::int64_t tag) const;

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
  std::string_view name_at(std::uint64_t offset) const;

  const InputFile& file_;
  std::unique_ptr<Elf, Close> elf_;
  template <class Wanted>
  bool has_symbol(const Wanted& wanted) const;

  std::vector<Segment> segments_;
  Place dynamic_;
  Elf_Data* symbols_ = nullptr;  // owned by elf_; null where there is no table
  std::string_view names_;       // the string table, also elf_'s
  std::uint64_t symbol_count_ = 0;
};

}  // namespace tenon
