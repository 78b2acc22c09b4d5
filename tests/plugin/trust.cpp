// Trust: owners of a plugin's file and folder, and write permissions.
#include "plugin/loading/trust.hpp"

#include <doctest/doctest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/folder_of_faults.hpp"

using namespace tenon;

namespace {

PluginFile read(const PluginFolder& folder, bool trust_writable,
                const std::filesystem::path& from) {
  PluginOptions options = folder.options();
  options.trust_writable = trust_writable;
  PluginSet set(options, idle_host());
  set.scan(from);
  return set.catalog().files().at(0);
}

constexpr uid_t stranger = 12345;

}  // namespace

TEST_CASE("trust: permissions of a plugin's file and folder") {
  struct Case {
    mode_t file, folder;
    bool trusted;
    std::string reason;
  };
  const Case cases[] = {
      {0755, 0755, true, ""},
      {0400, 0700, true, ""},
      {0757, 0755, false, "is not trusted: everyone can write to the file "},
      {0755, 0757, false, "is not trusted: everyone can write to the folder "},
      {0755, 01777, false, "is not trusted: everyone can write to the folder "},
  };
  for (const Case& c : cases) {
    CAPTURE(c.file);
    CAPTURE(c.folder);
    PluginFolder folder;
    const auto file = folder.put("plain");
    REQUIRE(chmod(file.c_str(), c.file) == 0);
    REQUIRE(chmod(folder.plugins().c_str(), c.folder) == 0);
    const PluginFile found = read(folder, false, folder.plugins());
    CHECK((found.status == PluginStatus::indexed) == c.trusted);
    CHECK((found.status == PluginStatus::untrusted) == !c.trusted);
    CHECK(found.reason.find(c.reason) == 0);
    CHECK(found.operators == std::vector<std::string>{"plain"});
    CHECK(read(folder, true, folder.plugins()).status == PluginStatus::indexed);
  }
}

TEST_CASE("trust: a link is only as trusted as both its ends") {
  PluginFolder open, closed;
  open.put("plain");
  REQUIRE(chmod(open.plugins().c_str(), 0777) == 0);
  std::filesystem::create_symlink(open / "plain.so", closed / "link.so");
  const PluginFile found = read(closed, false, closed.plugins());
  CHECK(found.status == PluginStatus::untrusted);
  CHECK(found.reason ==
        "is not trusted: everyone can write to the folder " + open.plugins().string());
}

TEST_CASE("trust: owners and groups other than root and the user") {
  if (geteuid() != 0) return;  // only root can change a file's owner
  struct Case {
    uid_t owner;
    gid_t group;
    mode_t mode;
    std::string reason;
  };
  const Case cases[] = {
      {stranger, 0, 0755,
       "is not trusted: the file PATH belongs to user 12345, not to you or root"},
      {0, stranger, 0775, "is not trusted: group 12345 can write to the file PATH"},
      {0, stranger, 0755, ""},
      {0, 0, 0775, ""},
  };
  for (Case c : cases) {
    PluginFolder folder;
    const auto file = folder.put("plain");
    REQUIRE(chown(file.c_str(), c.owner, c.group) == 0);
    REQUIRE(chmod(file.c_str(), c.mode) == 0);
    if (const auto at = c.reason.find("PATH"); at != std::string::npos)
      c.reason.replace(at, 4, file.string());
    CHECK(read(folder, false, folder.plugins()).reason == c.reason);
  }
}

TEST_CASE("trust: files of another user, and of the group with only this user") {
  if (geteuid() != 0) return;  // only root can become another user
  const auto ids_of = [](const char* name) {
    const passwd* found = getpwnam(name);
    return found == nullptr ? std::pair<uid_t, gid_t>() : std::pair(found->pw_uid, found->pw_gid);
  };
  const auto [daemon, own] = ids_of("daemon");
  const auto [nobody, shared] = ids_of("nobody");
  if (daemon == 0 || nobody == 0) return;
  const struct {
    uid_t owner;
    gid_t group;
    mode_t mode;
    bool daemons, nobodys;  // whether these users trust it
  } cases[] = {
      {daemon, own, 0755, true, false},     {daemon, own, 0775, true, false},
      {daemon, shared, 0775, false, false}, {nobody, shared, 0755, false, true},
      {nobody, shared, 0775, false, false}, {0, 0, 0775, true, true},
      {0, own, 0775, true, false},          {0, 0, 0777, false, false},
  };
  const PluginFolder folder;
  const auto path = folder.put("plain");
  REQUIRE(chmod(folder.plugins().parent_path().c_str(), 0755) == 0);
  for (const auto& test : cases) {
    REQUIRE(chown(path.c_str(), test.owner, test.group) == 0);
    REQUIRE(chmod(path.c_str(), test.mode) == 0);
    const InputFile file(path);
    const auto trusts = [&](uid_t user) {
      const pid_t child = fork();
      if (child == 0)
        _exit(setuid(user) == 0 ? static_cast<int>(Trust().fault(path, file).empty()) : 2);
      int end = 0;
      waitpid(child, &end, 0);
      return WIFEXITED(end) ? WEXITSTATUS(end) : 3;
    };
    CAPTURE(test.owner);
    CAPTURE(test.group);
    CAPTURE(test.mode);
    CHECK(trusts(daemon) == static_cast<int>(test.daemons));
    CHECK(trusts(nobody) == static_cast<int>(test.nobodys));
  }
}

TEST_CASE(
    "trust: plugins of the library's owner are trusted, and so are groups that may replace the "
    "library") {
  if (geteuid() != 0) return;  // only root can change a file's owner
  constexpr uid_t owner = 23456, nobody = 65534;
  constexpr gid_t group = 34567;
  struct Rights {
    uid_t user;
    gid_t group;
    mode_t mode;
  };
  const struct {
    std::string what;
    Rights library, place, plugin, folder;
    bool trusted;
  } cases[] = {
      {"root's library", {0, 0, 0644}, {0, 0, 0755}, {owner, 0, 0644}, {0, 0, 0755}, false},
      {"a file of the library's owner",
       {owner, 0, 0644},
       {0, 0, 0755},
       {owner, 0, 0644},
       {0, 0, 0755},
       true},
      {"a file and folder of the library's owner",
       {owner, 0, 0644},
       {owner, 0, 0755},
       {owner, group, 0644},
       {owner, 0, 0755},
       true},
      {"a file of a third user",
       {owner, 0, 0644},
       {owner, 0, 0755},
       {stranger, 0, 0644},
       {owner, 0, 0755},
       false},
      {"a folder of a third user",
       {owner, 0, 0644},
       {owner, 0, 0755},
       {owner, 0, 0644},
       {stranger, 0, 0755},
       false},
      {"the folder's owner is not the library's",
       {owner, 0, 0644},
       {stranger, 0, 0755},
       {stranger, 0, 0644},
       {0, 0, 0755},
       false},
      {"the user nobody stands for all unmapped users",
       {nobody, 0, 0644},
       {0, 0, 0755},
       {nobody, 0, 0644},
       {0, 0, 0755},
       false},
      {"everyone may write",
       {owner, 0, 0666},
       {owner, 0, 0777},
       {owner, 0, 0646},
       {owner, 0, 0755},
       false},
      {"everyone may add files",
       {owner, 0, 0666},
       {owner, 0, 0777},
       {owner, 0, 0644},
       {owner, 0, 0757},
       false},
      {"a group", {0, 0, 0644}, {0, group, 0755}, {0, group, 0664}, {0, 0, 0755}, false},
      {"the group that may replace the library",
       {0, 0, 0644},
       {0, group, 0775},
       {0, group, 0664},
       {0, group, 0775},
       true},
      {"the group that may write to the library",
       {0, group, 0664},
       {0, 0, 0755},
       {0, group, 0664},
       {0, group, 0775},
       true},
      {"another group", {0, 0, 0644}, {0, group, 0775}, {0, stranger, 0664}, {0, 0, 0755}, false},
      {"the group may not replace it",
       {0, 0, 0644},
       {0, group, 01775},
       {0, group, 0664},
       {0, 0, 0755},
       false},
      {"the group nobody stands for all unmapped groups",
       {0, 0, 0644},
       {0, nobody, 0775},
       {0, nobody, 0664},
       {0, 0, 0755},
       false},
  };
  const PluginFolder folder;
  const auto path = folder.put("plain"), library_folder = folder.plugins().parent_path() / "lib",
             library = library_folder / "libtenon.so";
  std::filesystem::create_directory(library_folder);
  write_bytes(library, "");
  const auto set = [](const std::filesystem::path& of, const Rights& rights) {
    REQUIRE(chown(of.c_str(), rights.user, rights.group) == 0);
    REQUIRE(chmod(of.c_str(), rights.mode) == 0);
  };
  for (const auto& test : cases) {
    CAPTURE(test.what);
    set(library_folder, test.place), set(library, test.library);
    set(folder.plugins(), test.folder), set(path, test.plugin);
    CHECK(Trust(LibraryRights(library)).fault(path, InputFile(path)).empty() == test.trusted);
  }
  set(library, {owner, 0, 0644}), set(path, {owner, 0, 0644}),
      set(folder.plugins(), {owner, 0, 0755});
  CHECK_FALSE(
      Trust(LibraryRights(library_folder / "none.so")).fault(path, InputFile(path)).empty());
  CHECK_FALSE(Trust(LibraryRights()).fault(path, InputFile(path)).empty());
}

TEST_CASE("trust: permissions are checked again when a plugin is loaded") {
  PluginFolder folder;
  const auto file = folder.put("plain");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  REQUIRE(chmod(file.c_str(), 0777) == 0);
  CHECK_THROWS_WITH(set.load("plain"),
                    ("operator 'plain' cannot be used: " + file.string() +
                     " is not trusted: everyone can write to the file " + file.string())
                        .c_str());
  CHECK(file_of(set, "plain.so").status == PluginStatus::untrusted);
}
