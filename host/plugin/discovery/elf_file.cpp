#include "plugin/discovery/elf_file.hpp"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "io/counted.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

#if defined(__x86_64__)
constexpr unsigned host_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned host_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr unsigned host_machine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr unsigned host_machine = EM_PPC64;
#elif defined(__s390x__)
constexpr unsigned host_machine = EM_S390;
#else
#error "unknown ELF machine number for this architecture: add it here"
#endif
static_assert(sizeof(void*) == 8, "plugins are read as 64-bit ELF files");

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 (32 bits)";
    case EM_ARM:
      return "arm (32 bits)";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return "machine number " + std::to_string(machine);
  }
}

[[noreturn]] void refuse_machine(const std::string& found) {
  throw PluginError(PluginStatus::wrong_machine,
                    "is built for " + found + "; this machine is " + machine_name(host_machine));
}

[[noreturn]] void refuse_header(const std::string& reason) {
  throw PluginError(PluginStatus::not_a_plugin, reason);
}

void check_identity(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    refuse_header("is not a shared object: it has no ELF header");
  if (header.e_ident[EI_DATA] !=
      (std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB)) {
    refuse_machine("a machine of the other byte order");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    const bool known = header.e_ident[EI_CLASS] == ELFCLASS32;
    refuse_machine(known ? machine_name(header.e_machine) + ", 32 bits" : "neither 32 nor 64 bits");
  }
  if (header.e_machine != host_machine) refuse_machine(machine_name(header.e_machine));
}

void check_kind(const Elf64_Ehdr& header) {
  if (header.e_type == ET_REL)
    refuse_header("is an object file, not a shared object: link it with -shared");
  if (header.e_type == ET_EXEC)
    refuse_header("is a program, not a shared object: link it with -shared");
  if (header.e_type != ET_DYN) refuse_header("is an ELF file, but not a shared object");
}

/// Reports how much is missing, which libelf does not. Refuses tables with more than 65,279
/// sections, whose count is stored elsewhere: no plugin needs as many, and reading them would use
/// as much memory as the file claims.
void check_section_table(const Elf64_Ehdr& header, std::uint64_t size) {
  if (header.e_shoff == 0)
    refuse_header("has no section table, so its symbols cannot be read: it was stripped too far");
  if (header.e_shnum == 0 || header.e_shnum >= SHN_LORESERVE)
    refuse_header("has a broken section table");
  const std::uint64_t length = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_shoff > size || length > size - header.e_shoff) {
    refuse_header("is truncated or broken: it has " + counted(size, "byte") +
                  ", but its section table should be at byte " + std::to_string(header.e_shoff) +
                  " with " + std::to_string(length) + " bytes");
  }
}

}  // namespace

void check_elf_header(const InputFile& file) {
  if (file.size() == 0) refuse_header("is empty");
  std::array<std::byte, sizeof(Elf64_Ehdr)> bytes{};
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), file.size()));
  file.read_at(0, std::span(bytes).first(there));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (there < sizeof header) {
    if (there >= SELFMAG && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
      refuse_header("is truncated: it has " + counted(there, "byte") +
                    ", less than the header of an ELF file");
    }
    refuse_header("is not a shared object: it has no ELF header");
  }
  check_identity(header);
  check_kind(header);
  check_section_table(header, file.size());
}

namespace {

// limit for a symbol or string table in bytes; large plugins use 1 % of it
constexpr std::uint64_t table_limit = std::uint64_t{64} << 20;
constexpr std::size_t export_limit = 8192;

[[noreturn]] void refuse_object(const std::string& what) {
  throw PluginError(PluginStatus::not_a_plugin, "is a broken shared object: " + what);
}

/// Returns the section's data after checking that it lies in the file, whatever size it claims.
Elf_Data* section_data(Elf_Scn* section, const GElf_Shdr& header, std::uint64_t file_size) {
  if (header.sh_size > table_limit)
    refuse_object("its symbol table has " + std::to_string(header.sh_size) + " bytes");
  if (header.sh_offset > file_size || header.sh_size > file_size - header.sh_offset) {
    refuse_object("its symbol table extends past the end of the file");
  }
  if ((header.sh_flags & SHF_COMPRESSED) != 0) refuse_object("its symbol table is compressed");
  Elf_Data* data = elf_getdata(section, nullptr);
  if (!data || (data->d_size > 0 && !data->d_buf)) refuse_object("its symbol table cannot be read");
  return data;
}

bool is_visible(const GElf_Sym& symbol) {
  const auto binding = GELF_ST_BIND(symbol.st_info),
             visibility = GELF_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

void ElfFile::Close::operator()(Elf* elf) const {
  elf_end(elf);
}

ElfFile::ElfFile(const InputFile& file) : file_(file) {
  check_elf_header(file);
  [[maybe_unused]] static const unsigned version = elf_version(EV_CURRENT);
  elf_.reset(elf_begin(file.descriptor(), ELF_C_READ, nullptr));
  if (!elf_ || elf_kind(elf_.get()) != ELF_K_ELF) refuse_object("its header cannot be read");
  read_segments();
  find_symbol_table();
}

void ElfFile::read_segments() {
  std::size_t count = 0;
  if (elf_getphdrnum(elf_.get(), &count) != 0 || count == 0 || count >= PN_XNUM)
    refuse_object("it has no segments to load");
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf_.get(), static_cast<int>(i), &header))
      refuse_object("its table of segments cannot be read");
    if (header.p_type == PT_DYNAMIC && header.p_offset <= file_.size() &&
        header.p_filesz <= file_.size() - header.p_offset)
      dynamic_ = {header.p_offset, header.p_filesz};
    if (header.p_type != PT_LOAD) continue;
    if (header.p_offset > file_.size() || header.p_filesz > file_.size() - header.p_offset) {
      refuse_object("a segment extends past the end of the file, at byte " +
                    std::to_string(file_.size()));
    }
    if (header.p_vaddr + header.p_filesz < header.p_vaddr)
      refuse_object("a segment extends past the end of the address space");
    segments_.push_back(
        {header.p_vaddr, header.p_offset, header.p_filesz, (header.p_flags & PF_X) != 0});
  }
}

void ElfFile::find_symbol_table() {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) refuse_object("its section table cannot be read");
    if (header.sh_type != SHT_DYNSYM) continue;
    Elf_Scn* strings = elf_getscn(elf_.get(), header.sh_link);
    GElf_Shdr string_header;
    if (!strings || !gelf_getshdr(strings, &string_header) || string_header.sh_type != SHT_STRTAB) {
      refuse_object("its symbols have no names");
    }
    symbols_ = section_data(section, header, file_.size());
    symbol_count_ = symbols_->d_size / sizeof(Elf64_Sym);
    symbols_offset_ = header.sh_offset;
    const Elf_Data* names = section_data(strings, string_header, file_.size());
    names_ = {static_cast<const char*>(names->d_buf), names->d_size};
    return;
  }
}

std::string_view ElfFile::name_at(std::uint64_t offset, std::size_t limit) const {
  if (offset >= names_.size()) return {};
  const std::string_view rest = names_.substr(offset, limit);
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::vector<ElfSymbol> ElfFile::exports(std::string_view prefix) const {
  std::vector<ElfSymbol> found;
  for (std::uint64_t i = 1; i < symbol_count_; ++i) {
    GElf_Sym symbol;
    if (!gelf_getsym(symbols_, static_cast<int>(i), &symbol))
      refuse_object("its symbol table cannot be read");
    if (!is_visible(symbol)) continue;
    const std::string_view name = name_at(symbol.st_name);
    if (!name.starts_with(prefix)) continue;
    if (found.size() == export_limit)
      refuse_object("it exports more than " + std::to_string(export_limit) + " Tenon symbols");
    found.push_back({std::string(name), symbol.st_value, symbol.st_size,
                     GELF_ST_TYPE(symbol.st_info) == STT_FUNC});
  }
  return found;
}

template <class Predicate>
bool ElfFile::has_symbol(const Predicate& matches) const {
  for (std::uint64_t i = 1; i < symbol_count_; ++i) {
    GElf_Sym symbol;
    if (!gelf_getsym(symbols_, static_cast<int>(i), &symbol))
      refuse_object("its symbol table cannot be read");
    if (matches(symbol, name_at(symbol.st_name))) return true;
  }
  return false;
}

bool ElfFile::imports(std::string_view prefix) const {
  return has_symbol([&](const GElf_Sym& symbol, std::string_view name) {
    return symbol.st_shndx == SHN_UNDEF && name.starts_with(prefix);
  });
}

bool ElfFile::defines(std::string_view expected) const {
  return has_symbol([&](const GElf_Sym& symbol, std::string_view name) {
    return is_visible(symbol) && name == expected;
  });
}

bool ElfFile::defines_any(std::string_view prefix) const {
  return has_symbol([&](const GElf_Sym& symbol, std::string_view name) {
    return is_visible(symbol) && name.starts_with(prefix);
  });
}

std::vector<std::byte> ElfFile::bytes(const ElfSymbol& symbol, std::uint64_t limit) const {
  const auto refuse = [&](const std::string& what) {
    throw PluginError(PluginStatus::broken_manifest, "has a broken symbol: " + what);
  };
  if (symbol.size == 0 || symbol.size > limit) {
    refuse(symbol.name + " has " + counted(symbol.size, "byte") + " but needs 1 to " +
           std::to_string(limit));
  }
  for (const Segment& segment : segments_) {
    if (symbol.address < segment.address || symbol.address - segment.address >= segment.size)
      continue;
    const std::uint64_t before = symbol.address - segment.address;
    if (symbol.size > segment.size - before) break;
    std::vector<std::byte> bytes(static_cast<std::size_t>(symbol.size));
    file_.read_at(segment.offset + before, bytes);
    return bytes;
  }
  refuse(symbol.name + " lies outside the file");
  return {};
}

std::vector<std::string_view> ElfFile::visible_names() const {
  std::vector<std::string_view> names;
  has_symbol([&](const GElf_Sym& symbol, std::string_view name) {
    if (is_visible(symbol)) names.push_back(name);
    return false;
  });
  return names;
}

std::vector<ElfFile::UniqueSymbol> ElfFile::unique_symbols() const {
  std::vector<UniqueSymbol> found;
  std::uint64_t index = 0;
  has_symbol([&](const GElf_Sym& symbol, std::string_view name) {
    ++index;  // the first symbol is skipped
    if (is_visible(symbol) && GELF_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE)
      found.push_back({name,
                       symbols_offset_ + index * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_info),
                       symbol.st_info});
    return false;
  });
  return found;
}

std::vector<Elf64_Dyn> ElfFile::dynamic_entries() const {
  constexpr std::size_t entry_limit = 4096;
  std::vector<Elf64_Dyn> entries(
      std::min<std::size_t>(dynamic_.size / sizeof(Elf64_Dyn), entry_limit));
  file_.read_at(dynamic_.offset, std::as_writable_bytes(std::span(entries)));
  return entries;
}

std::vector<std::string> ElfFile::dynamic_texts(std::int64_t tag) const {
  std::vector<std::string> texts;
  for (const auto& entry : dynamic_entries()) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != tag) continue;
    if (const std::string_view text = text_at(entry.d_un.d_val); !text.empty())
      texts.emplace_back(text);
  }
  return texts;
}

bool ElfFile::is_code(const ElfSymbol& symbol) const {
  if (!symbol.is_function) return false;
  for (const Segment& segment : segments_) {
    if (segment.executable && symbol.address >= segment.address &&
        symbol.address - segment.address < segment.size)
      return true;
  }
  return false;
}

}  // namespace tenon
