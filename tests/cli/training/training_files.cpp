// Files that a training may write: each only once, none that it reads, and none of other programs.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cli/failing_calls.hpp"
#include "cli/training/line_workplace.hpp"

TEST_CASE("train: identical files are refused before any work") {
  const LineWorkplace site;
  std::filesystem::create_directory(site.folder() / "sub");
  site.write("m.tenon", "old");
  std::filesystem::create_symlink("m.tenon", site.folder() / "link.tenon");
  const auto lock = std::filesystem::canonical(site.folder().path()) / "m.tenon.lock";
  const auto lock_of_output =
      "--metrics and the lock of --output are the same file, '" + lock.string() + "'";
  const struct {
    Words words;
    std::string message;
  } rows[] = {
      {{"--metrics", "m.tenon", "-o", "m.tenon"},
       "--output and --metrics are the same file, 'm.tenon'"},
      {{"--metrics", "./sub/../m.tenon", "-o", "m.tenon"},
       "--output and --metrics are the same file, './sub/../m.tenon'"},
      {{"--checkpoint", "link.tenon", "-o", "m.tenon"},
       "--output and --checkpoint are the same file, 'link.tenon'"},
      {{"--metrics", "p.svg", "--plot", "p.svg", "-o", "m.tenon"},
       "--metrics and --plot are the same file, 'p.svg'"},
      {{"--metrics", "m.checkpoint.tenon", "-o", "m.tenon"},
       "--checkpoint and --metrics are the same file, 'm.checkpoint.tenon'"},
      {{"--metrics", "m.tenon.lock", "-o", "m.tenon"}, lock_of_output},
      {{"--metrics", "m.tenon.lock", "-o", "link.tenon"}, lock_of_output},
      {{"--metrics", "xs.npy", "-o", "m.tenon"},
       "--metrics would replace 'xs.npy', which --data x reads"},
      {{"--metrics", "line.json", "-o", "m.tenon"},
       "--metrics would replace 'line.json', which GRAPH reads"},
  };
  const auto names = site.folder().names();
  for (const auto& row : rows) {
    const auto result = site.train(row.words);
    CAPTURE(command_line(row.words));
    CHECK(result.code == 2);
    CHECK(has(result.err, "error: " + row.message + '\n'));
  }
  CHECK(site.folder().names() == names);
  const auto rows_of = site.train({"--metrics", "xs.npy", "-o", "m.tenon", "--validate",
                                   "x=xs.npy[0:3]", "--validate", "y=ys.npy"});
  CHECK(rows_of.code == 2);
  // training may continue in the graph's own file
  CHECK(site.train({"--epochs", "1", "-o", "m.tenon"}).code == 0);
  CHECK(site.run({"train", "m.tenon", "--data", "x=xs.npy", "--data", "y=ys.npy", "--epochs", "1",
                  "-o", "m.tenon"})
            .code == 0);
}
TEST_CASE(
    "train: a file that is not a lock stays unchanged, whatever its name; an empty one becomes a "
    "lock") {
  const LineWorkplace site;
  const Words words{"--epochs", "1", "-o", "m.tenon"};
  const auto lock = site.folder() / "m.tenon.lock";
  for (const std::string text :
       {"tenon ", "tenon notes", "tenon process ", "tenon process 12\n",
        "tenon process 12 and others", "tenon process 12345678901", "\ntenon process 12"}) {
    CAPTURE(text);
    write_bytes(lock, text);
    const auto refused = site.train(words);
    CHECK(refused.code == 4);
    CHECK(has(refused.err,
              "m.tenon.lock is needed as a lock file, but another program's file has that "
              "name\nhint: remove it, or choose another output"));
    CHECK(read_bytes(lock) == text);
  }
  std::filesystem::remove(lock);
  REQUIRE(mkfifo(lock.c_str(), 0600) == 0);
  CHECK(site.train(words).code == 4);
  CHECK(site.train_in(words, with_calls("flock,*,1,9999,error 37")).code == 4);
  CHECK(std::filesystem::is_fifo(lock));
  std::filesystem::remove(lock);
  for (const char* text : {"", "tenon process 12"}) {
    write_bytes(lock, text);
    CHECK(site.train(words).code == 0);
    CHECK_FALSE(std::filesystem::exists(lock));
  }
}
