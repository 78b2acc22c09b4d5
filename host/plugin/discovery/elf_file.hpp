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
  std::vector<Segment> segments_;
  Elf_Data* symbols_ = nullptr;  // owned by elf_; null where there is no table
  std::string_view names_;       // the string table, also elf_'s
  std::uint64_t symbol_count_ = 0;
};

}  // namespace tenon
