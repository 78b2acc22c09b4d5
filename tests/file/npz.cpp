#include "file/array/npz.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "failure_of.hpp"
#include "file/array/npy_header.hpp"
#include "file/array/zip_writer.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"
#include "zip_builder.hpp"

using namespace tenon;
using Arrays = std::map<std::string, Tensor>;

static bool same(const Arrays& left, const Arrays& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && same_bits(a.second, b.second);
                    });
}

static Arrays some_arrays() {
  return {{"b", Tensor::from({1.0f, 2.0f}, {2})},
          {"a", Tensor::from({1, 2, 3, 4}, {2, 2})},
          {"größe/tief", Tensor::zeros(f64, {0, 3})}};
}

TEST_CASE("npz: archives round-trip, and equal arrays give equal bytes") {
  TemporaryFolder folder;
  for (const Arrays& arrays :
       {Arrays{}, some_arrays(),
        Arrays{{"only", Tensor::from<bfloat16>({bfloat16(2.0f)}, Shape::scalar())}}}) {
    write_npz(folder / "x.npz", arrays);
    CHECK(same(read_npz(folder / "x.npz"), arrays));
    const std::string first = read_bytes(folder / "x.npz");
    if (!arrays.empty())
      CHECK(first.substr(10, 4) == std::string("\0\0\x21\0", 4));  // 1980-01-01, at any time
    write_npz(folder / "x.npz", arrays);
    CHECK(read_bytes(folder / "x.npz") == first);
    CHECK(folder.names() == std::vector<std::string>{"x.npz"});
  }
}

TEST_CASE("npz: archives written by numpy") {
  const Tensor plain = Tensor::from({0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f}, {2, 3});
  const Arrays expected = {{"plain", plain},
                           {"fortran", Tensor::from<std::int64_t>({0, 1, 2, 3, 4, 5}, {2, 3})},
                           {"big", Tensor::from({0, 1, 2, 3, 4, 5}, {2, 3})},
                           {"mask", Tensor::from({false, true, false, true, false, true}, {6})},
                           {"scalar", Tensor::from({half(2.5f)}, Shape::scalar())},
                           {"nothing", Tensor::zeros(u8, {0, 4})},
                           {"many", Tensor::from(std::vector<std::int8_t>(5000, -3), {5000})},
                           {"größe/tief", Tensor::from({1.5}, {1})}};
  for (const char* name : {"numpy_stored.npz", "numpy_compressed.npz"}) {
    CAPTURE(name);
    CHECK(same(read_npz(std::filesystem::path(TENON_TEST_DATA) / name), expected));
  }
}

TEST_CASE("npz: failed writes report errors and leave existing files intact") {
  TemporaryFolder folder;
  const std::string at = folder.path().string(), path = at + "/x.npz";
  write_npz(path, some_arrays());
  const Tensor tensor = Tensor::zeros(f32, {3});
  const struct {
    std::string path;
    Arrays arrays;
    int kind;
    std::string message;
  } cases[] = {
      {at + "/no/x.npz",
       {},
       4,
       "cannot write " + at + "/no/x.npz: the folder " + at + "/no does not exist"},
      {path,
       {{"a", tensor}, {"b", Tensor()}},
       2,
       "this tensor is empty: it has no dtype, shape or elements"},
      {path, {{"", tensor}}, 2, "an array in " + path + " cannot be named ''"},
      {path,
       {{std::string("a\0b", 3), tensor}},
       2,
       "an array in " + path + " cannot be named 'a\\x00b'"},
      {path, {{"\xff\xfe", tensor}}, 2, "an array in " + path + " cannot be named '\\xff\\xfe'"},
      {path,
       {{"two\nlines", tensor}},
       2,
       "an array in " + path + " cannot be named 'two\\x0alines'"},
      {path,
       {{std::string(65532, 'x'), tensor}},
       2,
       "an array in " + path + " cannot be named '" + std::string(65532, 'x') + "'"},
  };
  for (const auto& test : cases) {
    const FailureText failure = failure_of([&] { write_npz(test.path, test.arrays); });
    CHECK(failure.kind == test.kind);
    CHECK(failure.message == test.message);
  }
  CHECK(same(read_npz(path), some_arrays()));
  CHECK(folder.names() == std::vector<std::string>{"x.npz"});
}

TEST_CASE("npz: an archive that does not fit on the disk leaves the old one intact") {
  TemporaryFolder folder;
  write_npz(folder / "x.npz", some_arrays());
  const FailureText failure = failure_of([&] {
    const FileSizeLimit limit(10000);
    write_npz(folder / "x.npz",
              {{"a", Tensor::zeros(u8, {5000})}, {"b", Tensor::zeros(u8, {500000})}});
  });
  CHECK(failure.kind == 1);
  CHECK(failure.message ==
        "cannot write " + (folder / "x.npz").string() + ": it would exceed the maximum file size");
  CHECK(same(read_npz(folder / "x.npz"), some_arrays()));
  CHECK(folder.names() == std::vector<std::string>{"x.npz"});
}

TEST_CASE("npz: a process killed while it writes an archive leaves the old one and no other file") {
  TemporaryFolder folder;
  write_npz(folder / "x.npz", some_arrays());
  const pid_t child = fork();
  if (child == 0) {
    const FileSizeLimit limit(10000);
    signal(SIGXFSZ, SIG_DFL);  // now exceeding the limit kills
    write_npz(folder / "x.npz", {{"a", Tensor::zeros(u8, {500000})}});
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(same(read_npz(folder / "x.npz"), some_arrays()));
  if (const int nameless = open(folder.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
      nameless >= 0) {
    close(nameless);
    CHECK(folder.names() == std::vector<std::string>{"x.npz"});
  } else {
    MESSAGE("this file system knows no nameless files, so the temporary one stays after a kill");
  }
}

TEST_CASE("npz: archives that are refused") {
  TemporaryFolder folder;
  const std::string path = (folder / "x.npz").string();
  write_npz(folder / "whole.npz", {{"a", Tensor::from({1.0f}, {1})}});
  const std::string array = [&] {
    const std::string bytes = read_bytes(folder / "whole.npz");
    return bytes.substr(bytes.find("\x93NUMPY"), 132);
  }();
  const BuiltMember good{.name = "a.npy", .content = array};
  const auto changed = [&](auto&& change) {
    BuiltMember member = good;
    change(member);
    return zip_of({member});
  };
  const auto deflated = [](const std::string& content, const std::string& said) {
    const auto length =
        static_cast<std::uint32_t>(content.size());  // one block, stored (RFC 1951, 3.2.4)
    BuiltMember member{
        .name = "a.npy",
        .content = "\1" + little_endian(length, 2) + little_endian(~length, 2) + content,
        .method = 8};
    member.crc = crc32_of(member.content) ^ crc32_of(content);
    member.size = static_cast<std::uint32_t>(said.size());
    return member;
  };
  for (const auto& member : {good, deflated(array, array)}) {
    write_bytes(path, zip_of({member}));
    REQUIRE(read_npz(path).at("a").to_string() == "float32 [1]  1");
  }

  std::string large = array.substr(0, 128) + std::string(4000, '\0');
  large.replace(large.find("(1,)"), 4, "(1000,)");
  large.erase(127 - 3, 3);
  const auto length = static_cast<std::uint32_t>(large.size());
  const BuiltMember whole{.name = "a.npy", .content = large},
      overlapping{
          .name = "b.npy", .content = "", .size = length, .stored_size = length, .offset = 0};

  const std::string
      bad_name = ": the archive is damaged: its member name ",
      elsewhere =
          ", array 'a': the archive is damaged: its directory does not match the member headers",
      whole_archive = zip_of({good});
  const auto at_end = [&](std::size_t at, std::uint32_t value) {
    auto archive = whole_archive;
    return archive.replace(archive.size() - 22 + at, at < 12 ? 2 : 4,
                           little_endian(value, at < 12 ? 2 : 4));
  };
  const struct {
    std::string archive;
    std::string reason;  // after the path
  } cases[] = {
      {"", ": it is empty"},
      {"hello", ": it is not a zip archive, which .npz files must be"},
      {array, ": it is not a zip archive, which .npz files must be"},
      {zip_of({{.name = "notes.txt", .content = "hi"}}),
       ", array 'notes.txt': it is not an array: its name does not end in .npy"},
      {zip_of({{.name = "folder/", .content = ""}}),
       ", array 'folder/': it is not an array: its name does not end in .npy"},
      {zip_of({good, good}), ", array 'a': the name occurs twice"},
      {changed([](BuiltMember& m) { m.content = "hello"; }),
       ", array 'a': it is not a .npy file: it does not begin with \\x93NUMPY"},
      {changed([](BuiltMember& m) { m.content.pop_back(); }),
       ", array 'a': it is truncated: it has 3 of the 4 bytes of float32 [1]"},
      {changed([](BuiltMember& m) { m.content += 'x'; }),
       ", array 'a': it has 1 byte after its array of float32 [1]"},
      {changed([](BuiltMember& m) { m.name = "two\nlines.npy", m.content = ""; }),
       bad_name + "'two\\x0alines.npy' is not UTF-8 without control characters"},
      {changed([](BuiltMember& m) { m.name = "\x1b[2J.npy", m.flags = 0x800; }),
       bad_name + "'\\x1b[2J.npy' is not UTF-8 without control characters"},
      {changed([](BuiltMember& m) { m.flags = 1; }), ", array 'a': it is encrypted"},
      {changed([](BuiltMember& m) { m.method = 12; }),
       ", array 'a': it is compressed by method 12, not stored or deflated"},
      {changed([](BuiltMember& m) { m.method = 8, m.content = "\xff\xff\xff"; }),
       ", array 'a': it is damaged: it cannot be decompressed"},
      {changed([](BuiltMember& m) { m.crc ^= 1; }),
       ", array 'a': it is damaged: its checksum does not match"},
      {changed([&](BuiltMember& m) { m = deflated(array + 'x', array); }),
       ", array 'a': it has more bytes than the directory declares"},
      {changed([&](BuiltMember& m) { m = deflated(array.substr(0, 131), array); }),
       ", array 'a': it has fewer bytes than the directory declares"},
      {changed([](BuiltMember& m) { m.size = 200; }),
       ", array 'a': its declared size is larger than the archive can hold"},
      {changed([](BuiltMember& m) { m.method = 8, m.size = 0xfffffff0; }),
       ", array 'a': its declared size is larger than the archive can hold"},
      {zip_of({whole, overlapping}), ", array 'b': the archive is shorter than its members' sizes"},
      {changed([&](BuiltMember& m) { m = deflated(array, array), m.content[0] = '\0'; }),
       ", array 'a': it has fewer bytes than the directory declares"},
      {changed([](BuiltMember& m) { m.stored_size = 1000; }),
       ", array 'a': the archive is shorter than its members' sizes"},
      {changed([](BuiltMember& m) { m.offset = 100; }), elsewhere},
      {changed([](BuiltMember& m) { m.offset = 0xfffffff0; }), elsewhere},
      {changed([](BuiltMember& m) { m.offset = 0xffffffff; }),
       ": the archive is damaged: its directory is damaged"},
      {whole_archive.substr(0, whole_archive.size() - 1),
       ": the archive is damaged: its directory, at the end of the file, is missing: was it "
       "truncated?"},
      {at_end(8, 2), ": the archive is damaged: it is one volume of a multi-volume archive"},
      {at_end(10, 2), ": the archive is damaged: it is one volume of a multi-volume archive"},
      {at_end(12, 100000), ": the archive is damaged: its directory lies outside the file"},
      {at_end(16, 0), ": the archive is damaged: its directory is damaged"},
      {at_end(12, 40),
       ": the archive is damaged: the size of its directory differs from the declared size"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.reason);
    write_bytes(path, test.archive);
    const FailureText failure = failure_of([&] { read_npz(path); });
    CHECK(failure.kind == 4);
    CAPTURE(failure.message);
    CHECK(failure.message.starts_with("cannot read " + path + test.reason));
  }
  CHECK(failure_of([&] { read_npz(folder.path()); }).message ==
        "cannot read " + folder.path().string() + ": it is a folder, but a file is needed");
}

TEST_CASE("npz: archives with a comment, and zip64 records") {
  TemporaryFolder folder;
  const auto path = folder / "x.npz";
  write_npz(path, some_arrays());
  const auto plain = read_bytes(path);
  for (const std::string& comment : {std::string("made PK\5\6 by hand"), std::string(65535, 'x')}) {
    auto commented = plain;
    commented.replace(plain.size() - 2, 2,
                      little_endian(static_cast<std::uint32_t>(comment.size()), 2) + comment);
    write_bytes(path, commented);
    CHECK(same(read_npz(path), some_arrays()));
    write_bytes(path, commented + 'x');
    CHECK(failure_of([&] { read_npz(path); }).kind == 4);
  }

  // A member's numbers in the zip64 field, after another field, and faults in it.
  write_npz(path, {{"a", Tensor::from({1.0f}, {1})}});
  const auto content = read_bytes(path).substr(35, 132);
  const auto size = little_endian(132, 4) + little_endian(0, 4), offset = std::string(8, '\0'),
             other = std::string("\x37\x13\2\0ab", 6);
  const auto field = [](const std::string& numbers) {
    return std::string("\1\0", 2) + little_endian(static_cast<std::uint32_t>(numbers.size()), 2) +
           numbers;
  };
  const struct {
    std::string extra;
    bool read;
  } cases[] = {
      {field(size + size + offset), true},
      {other + field(size + size + offset), true},
      {field(size + size + offset) + other, true},
      {field(size + size), false},
      {other, false},
      {"", false},
      {field(size + size + offset).substr(0, 20), false},
      {field(size + size + little_endian(0, 4) + little_endian(1, 4)), false},
      {field(size + little_endian(132, 4) + little_endian(1, 4) + offset), false},
      {std::string("\x37\x13\xff\xff", 4) + field(size + size + offset), false},
  };
  for (const auto& test : cases) {
    constexpr auto there = 0xffffffffU;
    write_bytes(path, zip_of({{.name = "a.npy",
                               .content = content,
                               .size = there,
                               .stored_size = there,
                               .offset = there,
                               .extra = test.extra}}));
    CAPTURE(test.extra.size());
    std::string found;
    const auto failure = failure_of([&] { found = read_npz(path).at("a").to_string(); });
    CHECK(found == (test.read ? "float32 [1]  1" : ""));
    CHECK(failure.kind == (test.read ? 0 : 4));
  }
}

TEST_CASE("npz: archives with zip64 records round-trip; damaged ones are refused or equal") {
  TemporaryFolder folder;
  const auto path = folder / "x.npz";
  const auto arrays = some_arrays();
  for (const std::uint64_t largest : {600, 400, 200, 0}) {
    CAPTURE(largest);
    AtomicFile file(path);
    ZipWriter archive(file, largest);
    for (const auto& [name, tensor] : arrays)
      archive.add(name + ".npy", npy_header(tensor.dtype(), tensor.shape()),
                  std::as_bytes(std::span(static_cast<const char*>(tensor.data()),
                                          static_cast<std::size_t>(tensor.bytes()))));
    archive.finish();
    file.commit();
    CHECK(same(read_npz(path), arrays));
  }
  const auto whole = read_bytes(path);
  for (std::size_t at = whole.size() - 98; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] ^= 0x40;
    write_bytes(folder / "y.npz", damaged);
    bool unharmed = false;
    const auto failure = failure_of([&] { unharmed = same(read_npz(folder / "y.npz"), arrays); });
    CHECK(failure.kind == (unharmed ? 0 : 4));
    write_bytes(folder / "y.npz", whole.substr(0, at));
    CHECK(failure_of([&] { read_npz(folder / "y.npz"); }).kind == 4);
  }
}

TEST_CASE("npz: an archive of more arrays than 16 bits can count") {
  TemporaryFolder folder;
  Arrays arrays;
  for (std::uint8_t high = 0; high < 255; ++high)
    for (int low = 0; low < 258; ++low)
      arrays.emplace(std::to_string(high * 258 + low), Tensor::from({high}, Shape::scalar()));
  REQUIRE(arrays.size() > 0xffff);
  write_npz(folder / "x.npz", arrays);
  const auto read = read_npz(folder / "x.npz");
  CHECK(read.size() == arrays.size());
  CHECK(same(read, arrays));
  auto bytes = read_bytes(folder / "x.npz");
  for (const auto at : {74, 66})
    bytes.replace(bytes.size() - static_cast<std::size_t>(at), 8,
                  little_endian(100001, 4) + little_endian(0, 4));
  write_bytes(folder / "x.npz", bytes);
  CHECK(failure_of([&] {
          read_npz(folder / "x.npz");
        }).message.ends_with("it has 100001 members but at most 100000 are supported"));
}

TEST_CASE("npz: an archive truncated anywhere is refused") {
  TemporaryFolder folder;
  write_npz(folder / "whole.npz", {{"a", Tensor::from({1.0f}, {1})}});
  const std::string whole = read_bytes(folder / "whole.npz");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    write_bytes(folder / "x.npz", whole.substr(0, size));
    CHECK(failure_of([&] { read_npz(folder / "x.npz"); }).kind == 4);
  }
}

TEST_CASE("npz: a damaged archive is read or refused, never trusted") {
  TemporaryFolder folder;
  for (const char* name : {"numpy_compressed.npz", "scipy_csr.npz"}) {
    const std::string whole = read_bytes(std::filesystem::path(TENON_TEST_DATA) / name);
    std::mt19937 random(5);
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
      std::string damaged = whole;
      for (unsigned flips = random() % 3 + 1; flips-- > 0;)
        damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
      write_bytes(folder / "x.npz", damaged);
      const FailureText failure = failure_of([&] { read_npz(folder / "x.npz"); });
      REQUIRE((failure.kind == 0 || failure.kind == 4));
      if (failure.kind == 4) ++refused;
    }
    CHECK(refused > 1000);
  }
}
