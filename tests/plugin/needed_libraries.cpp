// Libraries of plugins: where they are found, and what a private copy records about them.
#include "plugin/loading/needed_libraries.hpp"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <tenon/host/host.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"
#include "plugin/loading/loaded_libraries.hpp"
#include "plugin/loading/private_copy.hpp"
#include "plugin/loading/system_loader.hpp"

using namespace tenon;

namespace {

void put(const PluginFolder& folder, const std::string& name) {
  folder.write(name, read_bytes(std::filesystem::path(TENON_TEST_FAULTS) / "beside" / name));
}

/// Returns the strings of a tag as the loader finds them: by address, in the segments listed in the
/// header.
std::vector<std::string> loaded_texts(const std::filesystem::path& path, std::int64_t tag) {
  const auto bytes = read_bytes(path);
  const auto at = [&]<class Struct>(std::uint64_t offset, Struct) {
    Struct read;
    std::memcpy(&read, bytes.data() + offset, sizeof read);
    return read;
  };
  const auto header = at(0, Elf64_Ehdr());
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i)
    segments.push_back(at(header.e_phoff + i * sizeof(Elf64_Phdr), Elf64_Phdr()));
  const auto offset_of = [&](std::uint64_t address) {
    for (const auto& segment : segments)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address < segment.p_vaddr + segment.p_filesz)
        return segment.p_offset + address - segment.p_vaddr;
    throw std::runtime_error("an address outside of all segments");
  };
  std::uint64_t dynamic = 0, texts = 0;
  for (const auto& segment : segments)
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_offset;
  std::vector<std::uint64_t> values;
  for (auto entry = at(dynamic, Elf64_Dyn()); entry.d_tag != DT_NULL;
       entry = at(dynamic += sizeof entry, Elf64_Dyn())) {
    if (entry.d_tag == DT_STRTAB) texts = entry.d_un.d_ptr;
    if (entry.d_tag == tag) values.push_back(entry.d_un.d_val);
  }
  std::vector<std::string> found;
  for (const auto value : values) found.emplace_back(bytes.c_str() + offset_of(texts + value));
  return found;
}

/// A plugin that multiplies by its library's number, and hosts that have it.
class NumberPlace {
 public:
  NumberPlace() {
    for (const char* name : {"plugins", "lib"}) std::filesystem::create_directory(folder_ / name);
    options_.search_defaults = false;
    options_.trust_writable = true;
    options_.cache = folder_ / "cache";
  }
  /// Replaces by rename, as package managers do; `built` selects the run path.
  void plugin(const std::string& built) const {
    put(built + "/from_library.so", "plugins/from_library.so");
  }
  void library(const std::string& number) const {
    put(number + "/libnumber.so", "lib/libnumber.so");
  }
  Host host() const { return Host(options_); }
  void add_to(Host& host) const { host.add_plugins(folder_ / "plugins"); }
  std::string call(Host& host) const {
    float number = 0;
    const auto failure = failure_of([&] {
      number = host.call("from_library", {Tensor::from({1.0F}, {1})}).values<float>()[0];
    });
    return failure.message.empty() ? std::to_string(static_cast<int>(number)) : failure.message;
  }

 private:
  void put(const std::string& built, const std::string& name) const {
    std::filesystem::copy_file(std::filesystem::path(TENON_TEST_FAULTS) / "libraries" / built,
                               folder_ / "new");
    std::filesystem::rename(folder_ / "new", folder_ / name);
  }

  TemporaryFolder folder_;
  HostOptions options_;
};

// Errors come first: once loaded, a library is found by every later plugin of the process.
FailureText load(const PluginFolder& folder) {
  PluginSet set(folder.options(), idle_host());
  set.add_file(folder / "needs_beside.so");
  return failure_of([&] { set.load("needs_beside"); });
}

}  // namespace

TEST_CASE(
    "libraries: a library next to a plugin is found by $ORIGIN, and must be as trusted as the "
    "plugin") {
  PluginFolder folder;
  put(folder, "needs_beside.so");
  const auto missing = load(folder);
  CHECK(missing.kind == static_cast<int>(FailureKind::plugin));
  check_says(missing.message,
             {"needs_beside.so needs the library libbeside.so", "not found", "put it next to"});

  put(folder, "libbeside.so");
  REQUIRE(chmod((folder / "libbeside.so").c_str(), 0757) == 0);
  const auto open = load(folder);
  CHECK(open.kind == static_cast<int>(FailureKind::plugin));
  CHECK(open.message ==
        "operator 'needs_beside' cannot be used: " + (folder / "needs_beside.so").string() +
            " needs the library " + (folder / "libbeside.so").string() +
            ", which is not trusted: everyone can write to the file " +
            (folder / "libbeside.so").string());

  REQUIRE(chmod((folder / "libbeside.so").c_str(), 0755) == 0);
  put(folder, "libbelow.so");
  REQUIRE(chmod((folder / "libbelow.so").c_str(), 0757) == 0);
  CHECK(load(folder).message.find("needs the library " + (folder / "libbelow.so").string() +
                                  ", which is not trusted") != std::string::npos);
  folder.write("libbelow.so", "no library");
  CHECK(load(folder).message.find("needs the library " + (folder / "libbelow.so").string() +
                                  ", which is ") != std::string::npos);

  put(folder, "libbelow.so");
  CHECK(load(folder).message == "");
}

TEST_CASE("libraries: run path tokens are expanded as by the loader") {
  struct Case {
    const char *text, *expanded;
  };
  for (const auto& each : {Case{"$ORIGIN", "/p"},
                           {"${ORIGIN}/../lib", "/p/../lib"},
                           {"$ORIGIN/a:$ORIGIN", "/p/a:/p"},
                           {"/x/$ORIGIN", "/x//p"},
                           {"$ORIGINAL", "$ORIGINAL"},
                           {"$ORIGIN_", "$ORIGIN_"},
                           {"${ORIGIN", "${ORIGIN"},
                           {"$LIB/x", "lib64/$ORIGIN/x"},
                           {"$ORIGIN/${LIB}$PLATFORM", "/p/lib64/$ORIGIN$PLATFORM"},
                           {"", ""}}) {
    CAPTURE(each.text);
    CHECK(expand_tokens(each.text, {{"ORIGIN", "/p"}, {"LIB", "lib64/$ORIGIN"}}) == each.expanded);
  }
}

TEST_CASE(
    "private copy: changes needed libraries and run paths, and makes unique symbols ordinary") {
  const std::filesystem::path built = TENON_TEST_FAULTS "/libraries";
  const auto texts_of = [](const std::filesystem::path& plugin, const CopyChanges& changes,
                           std::int64_t tag) {
    PrivateCopy copy(InputFile(plugin), plugin);
    copy.seal(changes);
    return loaded_texts(copy.path(), tag);
  };
  const auto plugin = built / "runpath/from_library.so";
  const std::string folder(3000, 'x');  // longer than anything in the file
  CHECK(texts_of(plugin, {.origin = "/" + folder}, DT_RUNPATH) ==
        std::vector<std::string>{"/nowhere:/" + folder + "/none:/" + folder + "/../lib"});
  CHECK(texts_of(built / "rpath/from_library.so", {.origin = "/p"}, DT_RPATH) ==
        std::vector<std::string>{"/p/../lib"});
  const auto needed = texts_of(plugin, {.needed = {{"libnumber.so", "/l/other.so"}}}, DT_NEEDED);
  CHECK(std::find(needed.begin(), needed.end(), "/l/other.so") != needed.end());
  CHECK(std::find(needed.begin(), needed.end(), "libnumber.so") == needed.end());

#if defined(__GNUC__) && !defined(__clang__)  // clang emits no unique symbols
  const PluginFolder apart;
  const auto counts = [](const std::filesystem::path& path) {
    const auto names = private_unique_symbols(path);
    return std::count(names.begin(), names.end(), "_ZZ5callsvE5count");
  };
  const auto alone = apart.write("one.so", read_bytes(built / "shared/one.so"));
  CHECK(counts(alone) == 1);
  CHECK(counts(built / "shared/one.so") == 0);  // its library also has it
  PrivateCopy copy(InputFile(alone), alone);
  copy.seal({.localize_unique = true});
  CHECK(private_unique_symbols(copy.path()).empty());
#endif
}

TEST_CASE(
    "libraries: a plugin that is added again gets the current version of its library, even if the "
    "process has loaded an older one") {
  for (const std::string first : {"2", "bare"}) {
    CAPTURE(first);
    const NumberPlace place;
    place.plugin("runpath");
    place.library(first);
    auto host = place.host();
    place.add_to(host);
    CHECK(place.call(host) == "2");

    place.library("50");
    place.plugin("rpath");
    place.add_to(host);
    CHECK(place.call(host) == "50");

    place.library("2");  // only its library has changed
    auto later = place.host();
    place.add_to(later);
    CHECK(place.call(later) == "2");
    CHECK(place.call(host) == "50");
    place.add_to(host);
    CHECK(place.call(host) == "2");
    place.add_to(host);
    CHECK(place.call(host) == "2");
    CHECK(host.catalog().files().size() == 3);
  }
}

TEST_CASE("libraries: a plugin whose library was repaired is tried again when it is added again") {
  struct Case {
    const char *broken, *message;
  };
  for (const auto& each : {Case{"0", "crashed with SIGABRT"},
                           {nullptr, "needs the library libnumber.so, which was not found"}}) {
    CAPTURE(each.message);
    const NumberPlace place;
    place.plugin("runpath");
    if (each.broken != nullptr) place.library(each.broken);
    auto host = place.host();
    place.add_to(host);
    CHECK(place.call(host).find(each.message) != std::string::npos);
    place.add_to(host);
    CHECK(place.call(host).find(each.message) != std::string::npos);
    place.library("50");
    place.add_to(host);
    CHECK(place.call(host) == "50");
    const auto catalog = host.catalog();
    CHECK(std::count_if(catalog.files().begin(), catalog.files().end(), [](const auto& file) {
            return !file.usable();
          }) == static_cast<int>(catalog.files().size()) - 1);
    for (const auto& file : catalog.files())
      CHECK((file.status == PluginStatus::loaded ||
             file.reason == "is not used: it has changed and was read again"));
  }
}

TEST_CASE("libraries: refuses a system library that has changed since a plugin loaded it") {
  const PluginFolder folder;
  const auto plugin = folder.put("exit_at_load");  // needs the C library
  auto libraries = find_needed_libraries(InputFile(plugin), folder.plugins());
  auto& library = libraries.at(libraries[0].needs.at("libc.so.6"));
  REQUIRE(library.found == NeededLibrary::Found::by_system);
  LoadedLibraries all;
  CHECK(LoadedLibraries::missing(libraries).empty());  // the program has loaded it
  all.add(LoadedLibraries::Files{{library.path, library.stamp}});
  CHECK_FALSE(all.clash(libraries));
  ++library.stamp.modified_ns;
  CHECK(failure_of([&] { all.clash(libraries); }).message ==
        "needs the library " + library.path.string() +
            ", which has changed since another plugin loaded it in this process: restart the "
            "program");
}

TEST_CASE("loader rules: are parsed from the loader's debug output") {
  const auto rules = rules_in(
      "  1:\tfind library=libc.so.6 [0]; searching\n  1:\t search "
      "path=/dev/null/a/hw/v2:/dev/null/a/tls:/dev/null/a:/dev/null/b/lib64/hw/v2:"
      "/dev/null/b/lib64/tls:/dev/null/b/lib64:/dev/null/c/tls/hw/v2:/dev/null/c/tls/tls:/dev/null/"
      "c/tls\t\t(--library-path)\n"
      "  1:\t  trying file=/dev/null/a/hw/v2/libc.so.6\n");
  CHECK(rules.subfolders == std::vector<std::string>{"hw/v2", "tls", ""});
  CHECK(rules.tokens == std::map<std::string, std::string>{{"LIB", "lib64"}, {"PLATFORM", "tls"}});
  for (const char* text : {"", "/dev/null", "usage: ld.so", "/dev/null/c/x"}) {
    CAPTURE(text);
    CHECK(rules_in(text).subfolders == std::vector<std::string>{""});
    CHECK(rules_in(text).tokens.empty());
  }
  CHECK(LoaderRules::of_this_machine().subfolders.back() == "");
  CHECK(LoaderRules::of_this_machine().tokens.contains("LIB"));
}
