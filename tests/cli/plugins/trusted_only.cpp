// --trusted-only: no part of a plugin is loaded unless the user trusts its content or its
// signature.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "cli/workplace.hpp"

namespace {

namespace fs = std::filesystem;

/// A workplace with the plugin plain, its own cache and trust lists.
class Vault {
 public:
  Vault() {
    fs::create_directory(place_.folder() / "plugins");
    fs::copy_file(fs::path(TENON_TEST_FAULTS) / "plain.so", plugin());
    chmod(plugin().parent_path().c_str(), 0755);
    chmod(plugin().c_str(), 0755);
    place_.write("plain.json", graph_json(R"({"name": "a", "op": "plain", "inputs": ["x"]})"));
  }
  fs::path plugin() const { return place_.folder() / "plugins/plain.so"; }
  fs::path list(const char* name) const { return place_.folder() / "cache/config/tenon" / name; }
  const TemporaryFolder& folder() const { return place_.folder(); }
  const Workplace& place() const { return place_; }

  ProgramResult run(const Words& arguments) const {
    return run_tenon(arguments, {folder().path(), folder() / "cache", {}});
  }
  ProgramResult run_plain() const {
    return run({"--trusted-only", "--plugins", plugin().parent_path().string(), "run", "plain.json",
                "--input", "x=x.npy"});
  }
  void refused(const std::string& why) const {
    const auto result = run_plain();
    CHECK(result.code == 3);
    CHECK(result.out == "");
    CHECK(result.err == "error: plain.json:2:12: operator 'plain' of node 'a' cannot be used: " +
                            plugin().string() + ", which has operator 'plain', " + why +
                            "\nhint: if you trust its source, run `tenon trust add " +
                            plugin().string() + "` to add its current content to your list\n");
  }

 private:
  Workplace place_;
};

const std::string unlisted = "is not on your list of trusted plugins";

std::string output_of(const std::string& command) {
  std::string text;
  auto* pipe = popen(command.c_str(), "r");
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("trusted only: a plugin is loaded if its content is on the list, whatever its path") {
  const Vault vault;
  vault.refused(unlisted + " and has no signature");
  // installed plugins need no list
  CHECK(vault.run({"--trusted-only", "run", "g.json", "--input", "x=x.npy"}).code == 0);

  // of coreutils, as an independent check
  const auto sum = output_of("sha256sum " + vault.plugin().string()).substr(0, 64);
  REQUIRE(sum.size() == 64);
  const auto added = vault.run({"trust", "add", "plugins/plain.so"});
  CHECK(added.code == 0);
  CHECK(added.out == "trusted      " + vault.plugin().string() + ": SHA-256 " + sum + "\n");
  CHECK(vault.run_plain().code == 0);
  CHECK(vault.run({"trust", "add", "plugins/plain.so"}).out == added.out);
  CHECK(read_bytes(vault.list("trusted_plugins")) == sum + "  " + vault.plugin().string() + "\n");
  CHECK(std::system(
            ("sha256sum --quiet --check " + vault.list("trusted_plugins").string()).c_str()) == 0);
  CHECK(has(vault.run({"trust"}).out, added.out));

  write_bytes(vault.plugin(), read_bytes(vault.plugin()) + " ");
  vault.refused(unlisted + " and has no signature");
  fs::remove(vault.plugin());
  fs::copy_file(fs::path(TENON_TEST_FAULTS) / "plain.so",
                vault.plugin().parent_path() / "renamed.so");
  CHECK(vault.run_plain().code == 0);
  fs::rename(vault.plugin().parent_path() / "renamed.so", vault.plugin());

  CHECK(vault.run({"trust", "remove", "plugins/plain.so"}).out ==
        "removed      " + vault.plugin().string() + ": SHA-256 " + sum + "\n");
  vault.refused(unlisted + " and has no signature");
  REQUIRE(vault.run({"trust", "add", "plugins/plain.so"}).code == 0);
  CHECK(vault.run({"trust", "remove", sum}).code == 0);
  CHECK(vault.run({"trust", "remove", sum}).code == 2);
  CHECK(vault.run({"--trusted-only", "check", vault.plugin().string()}).code == 3);
}

TEST_CASE("trusted only: concurrent additions to the list lose no line") {
  const Vault vault;
  constexpr int programs = 4, files = 6;
  const auto name = [](int program, int file) {
    return "p" + std::to_string(program) + std::to_string(file) + ".so";
  };
  for (int program = 0; program < programs; ++program)
    for (int file = 0; file < files; ++file)
      vault.place().write(name(program, file), name(program, file));
  std::vector<std::thread> running;
  for (int program = 0; program < programs; ++program)
    running.emplace_back([&, program] {
      for (int file = 0; file < files; ++file) vault.run({"trust", "add", name(program, file)});
    });
  for (auto& each : running) each.join();
  const auto list = read_bytes(vault.list("trusted_plugins"));
  CHECK(std::count(list.begin(), list.end(), '\n') == programs * files);
  for (int program = 0; program < programs; ++program)
    for (int file = 0; file < files; ++file) CHECK(has(list, "/" + name(program, file) + "\n"));
}

TEST_CASE("trusted only: a list that is broken, or that others can write to, admits nothing") {
  const Vault vault;
  REQUIRE(vault.run({"trust", "add", "plugins/plain.so"}).code == 0);
  const auto list = vault.list("trusted_plugins");
  const auto sound = read_bytes(list);
  const auto refused = [&](const std::string& why) {
    const auto result = vault.run_plain();
    CHECK(result.code == 4);
    CHECK(has(result.err, "error: cannot use the list " + list.string() + ": " + why));
  };
  write_bytes(list, "# mine\n\n" + sound);
  CHECK(vault.run_plain().code == 0);
  for (const std::string& line :
       {std::string("plain.so"), sound.substr(1), "x" + sound.substr(1), std::string("\x1b[2J")}) {
    CAPTURE(line);
    write_bytes(list, sound + line);
    refused("line 2 is not a SHA-256 and a path");
  }
  write_bytes(list, sound);
  REQUIRE(chmod(list.c_str(), 0666) == 0);
  refused("it is not trusted: everyone can write to the file");
}

TEST_CASE("trusted only: signatures of OpenSSH") {
  if (std::system("command -v ssh-keygen >/dev/null") != 0) {
    MESSAGE("ssh-keygen is not installed (package openssh-client)");
    return;
  }
  const Vault vault;
  const auto in = "cd " + vault.folder().path().string() + " && ";
  const auto make_key = [&](const std::string& name) {
    REQUIRE(std::system(
                (in + "ssh-keygen -q -t ed25519 -N '' -C " + name + "@here -f " + name).c_str()) ==
            0);
  };
  const auto sign = [&](const std::string& key, const std::string& space = "tenon-plugin") {
    fs::remove(vault.plugin().string() + ".sig");
    REQUIRE(std::system((in + "ssh-keygen -q -Y sign -f " + key + " -n " + space +
                         " plugins/plain.so 2>/dev/null")
                            .c_str()) == 0);
  };
  const auto signature = "and its signature " + vault.plugin().string() + ".sig ";
  make_key("ali");
  make_key("eve");
  sign("ali");
  vault.refused(unlisted + ", and your list of keys is empty");
  CHECK(vault.run({"trust", "add-key", "ali"}).code == 4);  // the private key
  CHECK(vault.run({"trust", "add-key", "ali.pub", "--name", "a b"}).code == 2);
  const auto added = vault.run({"trust", "add-key", "ali.pub"});
  CHECK(added.code == 0);
  const auto key = read_bytes(vault.folder() / "ali.pub");
  CHECK(added.out == "key          ali@here: " + key.substr(0, key.rfind(' ')) + "\n");
  CHECK(vault.run_plain().code == 0);

  sign("eve");
  vault.refused(unlisted + ", " + signature + "was not made with a key that you trust");
  sign("ali", "file");
  vault.refused(unlisted + ", " + signature +
                "is not a signature of this content for the namespace tenon-plugin");
  sign("ali");
  const auto sound = read_bytes(vault.plugin());
  write_bytes(vault.plugin(), sound + " ");
  vault.refused(unlisted + ", " + signature +
                "is not a signature of this content for the namespace tenon-plugin");
  write_bytes(vault.plugin(), sound);
  CHECK(vault.run_plain().code == 0);
  for (const std::string& broken :
       {std::string(), std::string("-----BEGIN SSH SIGNATURE-----\n"), std::string(100000, 'x')}) {
    write_bytes(vault.plugin().string() + ".sig", broken);
    vault.refused(unlisted + ", " + signature + "was not made with a key that you trust");
  }
  sign("ali");
  CHECK(vault.run({"trust", "remove-key", "ali@here"}).code == 0);
  CHECK(vault.run({"trust", "remove-key", "ali@here"}).code == 2);
  vault.refused(unlisted + ", and your list of keys is empty");
}

TEST_CASE("trust add: its lists can be read again, whatever the umask") {
  const Vault vault;
  const auto before = umask(0);
  const auto added = vault.run({"trust", "add", vault.plugin().string()});
  umask(before);
  CHECK(added.code == 0);
  struct stat status {};
  REQUIRE(stat(vault.list("trusted_plugins").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0644);
  CHECK(vault.run_plain().code == 0);
}

TEST_CASE("trust: reports a pipe or folder in place of a list") {
  const Vault vault;
  const auto list = vault.list("trusted_plugins");
  fs::create_directories(list.parent_path());
  REQUIRE(mkfifo(list.c_str(), 0600) == 0);
  CHECK(has(vault.run_plain().err,
            "cannot use the list " + list.string() + ": it is a pipe, not a list\n"));
  fs::remove(list);
  fs::create_directory(list);
  CHECK(has(vault.run_plain().err,
            "cannot use the list " + list.string() + ": it is a folder, not a list\n"));
  CHECK(has(vault.run({"trust", "add-key", list.string()}).err,
            list.string() + " is a folder, not a public key\n"));
}
