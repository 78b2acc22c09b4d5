#include "plugin/discovery/elf_header.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
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

}  // namespace tenon
