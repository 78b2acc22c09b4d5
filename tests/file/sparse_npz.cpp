#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <tenon/host/cast_storage.hpp>

#include "failure_of.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"
#include "temporary_folder.hpp"
#include "zip_builder.hpp"

using namespace tenon;

namespace {

int scipy_script(const char* command, const std::filesystem::path& folder) {
  const int status =
      std::system((TENON_TEST_PYTHON " " TENON_TEST_SOURCE "/tests/file/scipy_matrix.py " +
                   std::string(command) + " " + folder.string())
                      .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& content) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  header += std::string(117 - header.size(), ' ') + '\n';
  return std::string("\x93NUMPY\x01\x00", 8) +
         little_endian(static_cast<std::uint32_t>(header.size()), 2) + header + content;
}

std::string numbers(const std::vector<std::uint32_t>& values) {
  std::string bytes;
  for (const auto value : values) bytes += little_endian(value, 4);
  return bytes;
}

struct Matrix {
  std::vector<std::uint32_t> data = {0x3f800000, 0x40000000}, indices = {2, 0}, starts = {0, 1, 2},
                             shape = {2, 3};  // 1.0f, 2.0f
  std::string format = npy("|S3", "()", "csr");
  bool plus = false;

  std::string archive() const {
    const auto list = [](const char* name, const char* descr,
                         const std::vector<std::uint32_t>& values) {
      return BuiltMember{
          .name = name,
          .content = npy(descr, "(" + std::to_string(values.size()) + ",)", numbers(values))};
    };
    std::vector<BuiltMember> members = {list("indices.npy", "<i4", indices),
                                        list("indptr.npy", "<i4", starts),
                                        {.name = "format.npy", .content = format},
                                        list("shape.npy", "<i4", shape),
                                        list("data.npy", "<f4", data)};
    if (plus) members.push_back(list("more.npy", "<i4", {}));
    return zip_of(members);
  }
};

}  // namespace

TEST_CASE("sparse npz: a matrix written byte by byte in scipy's layout is read") {
  const TemporaryFolder folder;
  const struct {
    Matrix matrix;
    const char* text;
  } cases[] = {
      {{}, "csr float32 [2, 3], 2 stored  (0, 2) 1 (1, 0) 2"},
      {{.format = npy("<U3", "()", numbers({'c', 's', 'r'}))},
       "csr float32 [2, 3], 2 stored  (0, 2) 1 (1, 0) 2"},
      {{.format = npy(">U4", "()", std::string("\0\0\0c\0\0\0s\0\0\0r\0\0\0\0", 16))},
       "csr float32 [2, 3], 2 stored  (0, 2) 1 (1, 0) 2"},
      {{.starts = {0, 2, 2}}, "csr float32 [2, 3], 2 stored  (0, 0) 2 (0, 2) 1"},
      {{.indices = {1, 1}, .starts = {0, 2, 2}}, "csr float32 [2, 3], 1 stored  (0, 1) 3"},
      {{.data = {}, .indices = {}, .starts = {0}, .shape = {0, 3}}, "csr float32 [0, 3], 0 stored"},
  };
  for (const auto& test : cases) {
    write_bytes(folder / "x.npz", test.matrix.archive());
    const auto arrays = read_npz(folder / "x.npz");
    REQUIRE(arrays.size() == 1);
    CHECK(arrays.at("").to_string() == test.text);
    CHECK(arrays.at("").index_dtype() == i32);
  }
}

TEST_CASE("sparse npz: indices, indptr and shape of any integer dtype are read") {
  const TemporaryFolder folder;
  const std::pair<const char*, int> types[] = {{"|i1", 1}, {"<i2", 2}, {"<i4", 4}, {"<i8", 8},
                                               {"|u1", 1}, {"<u2", 2}, {"<u4", 4}, {"<u8", 8}};
  const auto list = [](const char* name, const std::pair<const char*, int>& type,
                       const std::vector<std::uint64_t>& values) {
    std::string bytes;
    for (const auto value : values)
      for (int i = 0; i < type.second; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
    return BuiltMember{
        .name = name,
        .content = npy(type.first, "(" + std::to_string(values.size()) + ",)", bytes)};
  };
  const auto archive = [&](const auto& indices, const auto& starts, std::uint64_t column = 2) {
    return zip_of(
        {list("indices.npy", indices, {column, 0}),
         list("indptr.npy", starts, {0, 1, 2}),
         {.name = "format.npy", .content = npy("|S3", "()", "csr")},
         list("shape.npy", starts, {2, 3}),
         {.name = "data.npy", .content = npy("<f4", "(2,)", numbers({0x3f800000, 0x40000000}))}});
  };
  for (const auto& indices : types)
    for (const auto& starts : types) {
      CAPTURE(indices.first);
      CAPTURE(starts.first);
      write_bytes(folder / "x.npz", archive(indices, starts));
      const auto matrix = read_npz(folder / "x.npz").at("");
      CHECK(matrix.to_string() == "csr float32 [2, 3], 2 stored  (0, 2) 1 (1, 0) 2");
    }
  const auto reason_of = [&](const std::string& bytes) {
    write_bytes(folder / "x.npz", bytes);
    return failure_of([&] { read_npz(folder / "x.npz"); }).message;
  };
  CHECK(reason_of(archive(types[7], types[3], UINT64_MAX))
            .ends_with("'indices' has 18446744073709551615, which does not fit int64"));
  CHECK(reason_of(archive(types[4], types[3], 255))
            .ends_with("column index 0 is 255, but there are 3 columns"));
  CHECK(reason_of(archive(types[0], types[3], 255))
            .ends_with("column index 0 is -1, but there are 3 columns"));
  CHECK(reason_of(archive(std::pair{"<f4", 4}, types[3]))
            .ends_with("'indices' is float32 but must be integers"));
}

TEST_CASE("sparse npz: matrices that are refused") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.npz").string();
  const struct {
    Matrix matrix;
    const char* reason;
  } cases[] = {
      {{.format = npy("|S3", "()", "csc")},
       "it holds a sparse matrix in the format 'csc' but only csr is supported"},
      {{.format = npy("|S3", "()", "\x1b[J")},
       "it holds a sparse matrix in the format '?[J' but only csr is supported"},
      {{.format = npy("|S4", "()", "a ~b")},
       "it holds a sparse matrix in the format 'a ~b' but only csr is supported"},
      {{.indices = {3, 0}}, "csr float32 [2, 3]: column index 0 is 3, but there are 3 columns"},
      {{.indices = {0xffffffff, 0}},
       "csr float32 [2, 3]: column index 0 is -1, but there are 3 columns"},
      {{.indices = {2, 0xffffffff}, .starts = {0, 2, 2}},
       "column index 1 is -1, but there are 3 columns"},
      {{.indices = {0}},
       "csr float32 [2, 3]: its values have shape [2], but its columns, [1], need [1]"},
      {{.starts = {0, 1}},
       "'indptr' has 2 entries, but a matrix of 2 rows needs one more than it has rows"},
      {{.starts = {0, 1, 3}}, "csr float32 [2, 3]: its row starts go from 0 to 3, not from 0 to 2"},
      {{.starts = {0, 0x7fffffff, 2}},
       "csr float32 [2, 3]: row 1 starts at 2147483647, but row 2 starts at 2: row starts must not "
       "decrease"},
      {{.starts = {1, 1, 2}}, "csr float32 [2, 3]: its row starts go from 1 to 2, not from 0 to 2"},
      {{.shape = {2}}, "'shape' has 1 entries but needs 2"},
      {{.shape = {0xffffffff, 3}}, "'shape' has a dimension of -1"},
      {{.plus = true}, "a sparse matrix has no array 'more'"},
  };
  for (const auto& test : cases) {
    write_bytes(path, test.matrix.archive());
    const FailureText failure = failure_of([&] { read_npz(path); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == "cannot read " + path + ": " + test.reason);
  }
  const auto message_of = [&](const std::string& format) {
    write_bytes(path, Matrix{.format = format}.archive());
    return failure_of([&] { read_npz(path); }).message;
  };
  write_bytes(path, zip_of({{.name = "format.npy", .content = npy("|S3", "()", "csr")},
                            {.name = "data.npy",
                             .content = npy("<f4", "(1, 2)", numbers({0x3f800000, 0x40000000}))}}));
  CHECK(failure_of([&] { read_npz(path); }).message ==
        "cannot read " + path + ": 'data' has the shape [1, 2] but must have one dimension");
  const std::string where = "cannot read " + path + ", array 'format': ";
  CHECK(message_of(npy("|S4", "()", "csr")) == where + "its text of 4 characters has 3 bytes");
  CHECK(message_of(npy("<U3", "()", "csr")) == where + "its text of 3 characters has 3 bytes");
  CHECK(message_of(npy("|S3", "(1,)", "csr")) ==
        where + "its elements have numpy's type '|S3', which Tenon does not support");
  write_bytes(path, zip_of({{.name = "format.npy", .content = npy("|S3", "()", "csr")}}));
  CHECK(failure_of([&] { read_npz(path); }).message ==
        "cannot read " + path + ": the sparse matrix lacks the array 'data'");
}

TEST_CASE("sparse npz: any numbers are read or refused") {
  const TemporaryFolder folder;
  std::mt19937 random(9);
  constexpr std::uint32_t hostile[] = {0, 1, 2, 3, 4, 0x7fffffff, 0x80000000, 0xffffffff};
  int read = 0, refused = 0;
  for (int round = 0; round < 1000; ++round) {
    Matrix matrix;
    for (auto* list : {&matrix.indices, &matrix.starts, &matrix.shape})
      if (random() % 2 == 0)
        list->at(random() % list->size()) = hostile[random() % std::size(hostile)];
    write_bytes(folder / "x.npz", matrix.archive());
    const FailureText failure = failure_of([&] {
      const Tensor csr = read_npz(folder / "x.npz").at("");
      if (csr.size() < 1000)
        REQUIRE(cast_storage(csr, Storage::dense).size() == csr.size());  // follows all indices
    });
    REQUIRE((failure.kind == 0 || failure.kind == 4));
    ++(failure.kind == 0 ? read : refused);
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}

TEST_CASE("sparse npz: csr round-trips with the same bytes every time") {
  const TemporaryFolder folder;
  const Tensor dense = Tensor::from({0.0f, 1.0f, 0.0f, 0.0f, 2.0f, 3.0f}, {2, 3});
  for (const DType index : {i32, i64}) {
    const Tensor csr = cast_storage(dense, Storage::csr, index);
    write_npz(folder / "x.npz", {{"anything", csr}});
    CHECK(same_bits(read_npz(folder / "x.npz").at(""), csr));
    const std::string first = read_bytes(folder / "x.npz");
    write_npz(folder / "x.npz", {{"anything", csr}});
    CHECK(read_bytes(folder / "x.npz") == first);
  }
  // An array may be named format if it is not a text.
  write_npz(folder / "x.npz", {{"format", dense}});
  CHECK(same_bits(read_npz(folder / "x.npz").at("format"), dense));
}

TEST_CASE("sparse tensors that array files cannot hold") {
  const TemporaryFolder folder;
  const Tensor dense = Tensor::from({0.0f, 1.0f}, {2, 1}), csr = cast_storage(dense, Storage::csr);
  const struct {
    std::function<void()> write;
    std::string message;
  } cases[] = {
      {[&] {
         write_npz(folder / "x.npz", {{"a", csr}, {"b", dense}});
       },
       "'a' is csr, but an archive holds dense arrays or one csr matrix"},
      {[&] {
         write_npz(folder / "x.npz", {{"a", cast_storage(dense, Storage::row_sparse)}});
       },
       "'a' is row_sparse, but an archive holds dense arrays or one csr matrix"},
      {[&] { write_npy(folder / "x.npy", csr); },
       "a .npy file holds a dense array, but the tensor for " + (folder / "x.npy").string() +
           " is csr"},
  };
  for (const auto& test : cases) {
    const FailureText failure = failure_of(test.write);
    CHECK(failure.kind == 2);
    CHECK(failure.message == test.message);
  }
  CHECK(folder.names().empty());
}

TEST_CASE("a matrix written by scipy is read") {
  const Tensor csr = read_npz(std::filesystem::path(TENON_TEST_DATA) / "scipy_csr.npz").at("");
  CHECK(csr.to_string() ==
        "csr float32 [4, 5], 5 stored  (0, 1) 1.5 (0, 4) -2 (2, 0) 3 (2, 3) 4 (3, 2) 0.5");
  CHECK(csr.index_dtype() == i32);
}

TEST_CASE("scipy and Tenon read each other's matrices") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "scipy");
  std::filesystem::create_directory(folder / "tenon");
  const int code = scipy_script("write", folder / "scipy");
  if (code == 77 || code == 127) {
    MESSAGE("skipped: python3 cannot import scipy");
    return;
  }
  REQUIRE(code == 0);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "scipy")) {
    if (entry.path().extension() != ".npz") continue;
    CAPTURE(entry.path().string());
    const std::string name = entry.path().stem().string();
    const Tensor csr = read_npz(entry.path()).at(""),
                 dense = read_npy(folder / "scipy" / (name + ".dense.npy"));
    CHECK(csr.storage() == Storage::csr);
    CHECK(same_bits(cast_storage(csr, Storage::dense), dense));
    if (name != "unsorted")
      write_npz(folder / "tenon" / (name + ".npz"), {{"m", cast_storage(dense, Storage::csr)}});
    ++count;
  }
  CHECK(count == 43);
  CHECK(scipy_script("check", folder / "tenon") == 0);
}
