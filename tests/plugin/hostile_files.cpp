// Truncated and modified files always get a status and never do harm. Under AddressSanitizer, this
// also shows that nothing is read out of bounds.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <random>

#include "plugin/discovery/candidate.hpp"
#include "plugin/folder_of_faults.hpp"

using namespace tenon;

namespace {

/// Checks that the outcome is consistent: operators if the file is usable, a reason otherwise.
bool is_settled(const Candidate& candidate) {
  const bool usable = candidate.file.status == PluginStatus::indexed;
  return usable ? candidate.file.reason.empty() &&
                      candidate.operators.size() == candidate.file.operators.size()
                : !candidate.file.reason.empty() && candidate.operators.empty() &&
                      candidate.file.status != PluginStatus::loaded;
}

Candidate read(const std::filesystem::path& path) {
  return read_candidate(path, [](const InputFile&) {});
}

/// Overwrites without truncating first, because a file system may then wait for the disk thousands
/// of times.
void overwrite(const std::filesystem::path& path, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const char* const plugins[] = {"plain", "split_kernel"};

/// An ELF file whose tables are modified in place.
class ForgedElf {
 public:
  explicit ForgedElf(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }

  Elf64_Ehdr& header() { return at<Elf64_Ehdr>(0); }
  Elf64_Phdr& segment(std::uint32_t type) {
    for (std::uint64_t i = 0;; ++i)
      if (auto& found = at<Elf64_Phdr>(header().e_phoff + i * sizeof(Elf64_Phdr));
          found.p_type == type)
        return found;
  }
  Elf64_Shdr& section(std::uint32_t type) {
    for (std::uint64_t i = 0;; ++i)
      if (auto& found = numbered_section(i); found.sh_type == type) return found;
  }
  Elf64_Shdr& names() { return numbered_section(section(SHT_DYNSYM).sh_link); }
  Elf64_Sym& symbol(std::string_view prefix) {
    for (std::uint64_t i = 0;; ++i)
      if (auto& found = at<Elf64_Sym>(section(SHT_DYNSYM).sh_offset + i * sizeof(Elf64_Sym));
          std::string_view(&at<char>(names().sh_offset + found.st_name)).starts_with(prefix))
        return found;
  }

 private:
  Elf64_Shdr& numbered_section(std::uint64_t i) {
    return at<Elf64_Shdr>(header().e_shoff + i * sizeof(Elf64_Shdr));
  }
  template <class T>
  T& at(std::uint64_t offset) {
    REQUIRE(offset + sizeof(T) <= bytes_.size());
    return *reinterpret_cast<T*>(bytes_.data() + offset);
  }
  std::string bytes_;
};

}  // namespace

TEST_CASE("hostile files: a plugin truncated at any length") {
  for (const char* plugin : plugins) {
    PluginFolder folder;
    const auto path = folder.put(plugin);
    const auto whole = std::filesystem::file_size(path);
    REQUIRE(read(path).file.status == PluginStatus::indexed);
    std::size_t usable = 0;
    for (auto length = whole - 1; length > 0;
         length -= std::min<std::uintmax_t>(length, 1 + length / 512)) {
      std::filesystem::resize_file(path, length);
      const Candidate candidate = read(path);
      CHECK(is_settled(candidate));
      usable += candidate.file.usable();
    }
    CHECK(usable == 0);  // the section table is at the end
  }
}

TEST_CASE("hostile files: a plugin with bytes changed anywhere") {
  std::mt19937 random(7);
  for (const char* plugin : plugins) {
    PluginFolder folder;
    const auto path = folder.put(plugin);
    const std::string sound = read_bytes(path);
    std::size_t refused = 0;
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = sound;
      // Half of the changes hit the header, the segment and section tables, and the dynamic
      // symbols, which are only few of the bytes.
      for (unsigned flips = 1 + random() % 8; flips > 0; --flips) {
        const bool table = random() % 2 == 0;
        const std::size_t at = !table         ? random() % bytes.size()
                               : random() % 2 ? random() % 2048
                                              : bytes.size() - 1 - random() % 2048;
        bytes[at] = static_cast<char>(
            random() % 3 == 0 ? 0xff : bytes[at] ^ static_cast<char>(1U << random() % 8));
      }
      overwrite(path, bytes);
      const Candidate candidate = read(path);
      CHECK(is_settled(candidate));
      refused += !candidate.file.usable();
    }
    CHECK(refused > 100);  // depends on how much of the file is debug information
    CHECK(refused < 3000);
  }
}

TEST_CASE("hostile files: each fault of a shared object is reported") {
  PluginFolder folder;
  const auto path = folder.put("plain");
  const std::string sound = read_bytes(path);
  const auto size = std::to_string(sound.size());
  const std::string object = "is a broken shared object: ",
                    symbol = "has a broken symbol: tenon_op_";
  const std::string no_operator = "has no manifest for operator 'plain'";
  const std::string no_function = "has no function tenon_get_v1__plain for the operator's manifest";
  const struct {
    void (*forge)(ForgedElf&);
    std::string reason;
  } cases[] = {
      {[](auto& elf) { elf.header().e_phnum = 0; }, object + "it has no segments to load"},
      {[](auto& elf) { elf.segment(PT_LOAD).p_filesz = elf.bytes().size() + 1; },
       object + "a segment extends past the end of the file, at byte " + size},
      {[](auto& elf) { elf.segment(PT_LOAD).p_offset = elf.bytes().size() + 1; },
       object + "a segment extends past the end of the file, at byte " + size},
      {[](auto& elf) { elf.segment(PT_LOAD).p_vaddr = ~std::uint64_t{0}; },
       object + "a segment extends past the end of the address space"},
      {[](auto& elf) { elf.section(SHT_DYNSYM).sh_link = 0; },
       object + "its symbols have no names"},
      {[](auto& elf) { elf.section(SHT_DYNSYM).sh_size = (64 << 20) + 1; },
       object + "its symbol table has 67108865 bytes"},
      {[](auto& elf) { elf.section(SHT_DYNSYM).sh_size = 64 << 20; },
       object + "its symbol table extends past the end of the file"},
      {[](auto& elf) { elf.section(SHT_DYNSYM).sh_offset = elf.bytes().size(); },
       object + "its symbol table extends past the end of the file"},
      {[](auto& elf) { elf.section(SHT_DYNSYM).sh_flags |= SHF_COMPRESSED; },
       object + "its symbol table is compressed"},
      {[](auto& elf) { elf.names().sh_offset = elf.bytes().size(); },
       object + "its symbol table extends past the end of the file"},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_shndx = SHN_UNDEF; }, no_operator},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_other = STV_HIDDEN; }, no_operator},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_other = STV_PROTECTED; }, ""},
      {[](auto& elf) {
         elf.symbol("tenon_op_v1__").st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
       },
       no_operator},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_info = ELF64_ST_INFO(STB_WEAK, STT_OBJECT); },
       ""},
      {[](auto& elf) {
         elf.symbol("tenon_op_v1__").st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_OBJECT);
       },
       ""},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_size = 0; },
       symbol + "v1__plain has 0 bytes but needs 1 to 65536"},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_size = 1 << 30; },
       symbol + "v1__plain has 1073741824 bytes but needs 1 to 65536"},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_value = elf.bytes().size() << 8; },
       symbol + "v1__plain lies outside the file"},
      {[](auto& elf) { elf.symbol("tenon_op_v1__").st_value = elf.segment(PT_LOAD).p_filesz - 1; },
       symbol + "v1__plain lies outside the file"},
      {[](auto& elf) { elf.symbol("tenon_get_").st_value = elf.symbol("tenon_op_v1__").st_value; },
       no_function},
      {[](auto& elf) { elf.symbol("tenon_get_").st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT); },
       no_function},
  };
  for (const auto& test : cases) {
    ForgedElf elf(sound);
    test.forge(elf);
    overwrite(path, elf.bytes());
    const Candidate candidate = read(path);
    CHECK(candidate.file.reason == test.reason);
    CHECK(is_settled(candidate));
  }
}

TEST_CASE("hostile files: a file that claims to be enormous costs nothing") {
  PluginFolder folder;
  const auto path = folder.put("plain");
  // a sparse terabyte after a valid plugin
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  CHECK(read(path).file.status == PluginStatus::indexed);
}
