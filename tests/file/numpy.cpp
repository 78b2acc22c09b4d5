// Compares with numpy itself, if python3 can import it.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <tenon/visit.hpp>

#include "file/array/npy.hpp"
#include "file/array/npy_header.hpp"
#include "file/array/npz.hpp"
#include "file/array/zip_writer.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

static int numpy_script(const char* command, const std::filesystem::path& folder) {
  const int status =
      std::system((TENON_TEST_PYTHON " " TENON_TEST_SOURCE "/tests/file/numpy_arrays.py " +
                   std::string(command) + " " + folder.string())
                      .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 0, 1, 2 ..., or their parity for bool.
static Tensor numbered(DType dtype, const Shape& shape) {
  const Tensor tensor = Tensor::empty(dtype, shape);
  visit<every_type>(dtype, [&]<class T>() {
    int i = 0;
    for (T& element : tensor.values<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        element = i++ % 2 == 1;
      } else {
        element = static_cast<T>(static_cast<float>(i++));
      }
    }
  });
  return tensor;
}

static std::map<std::string, Tensor> all_arrays() {
  std::map<std::string, Tensor> arrays;
  for (const DType dtype :
       {boolean, u8, i8, i32, i64, f16, f32, f64, i16, u16, u32, u64, c64, c128}) {
    for (const Shape& shape : {Shape::scalar(), Shape{1}, Shape{7}, Shape{2, 3}, Shape{0, 3},
                               Shape{2, 3, 4}, Shape{1, 1, 1, 1, 1, 1, 2, 2}}) {
      std::string name = name_of(dtype);
      for (const std::int64_t dim : shape) name += "_" + std::to_string(dim);
      arrays.emplace(name, numbered(dtype, shape));
    }
  }
  return arrays;
}

TEST_CASE("numpy and Tenon read each other's files") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "numpy");
  std::filesystem::create_directory(folder / "tenon");
  const int code = numpy_script("write", folder / "numpy");
  if (code == 77 || code == 127) {
    MESSAGE("skipped: python3 cannot import numpy");
    return;
  }
  REQUIRE(code == 0);

  const std::map<std::string, Tensor> expected = all_arrays();
  const auto stored = read_npz(folder / "numpy/stored.npz"),
             compressed = read_npz(folder / "numpy/compressed.npz");
  CHECK(stored.size() == expected.size());
  CHECK(compressed.size() == expected.size());
  for (const auto& entry : expected) {
    const auto& [name, tensor] = entry;
    CAPTURE(entry.first);
    CHECK(same_bits(stored.at(name), tensor));
    CHECK(same_bits(compressed.at(name), tensor));
    for (const char* ending : {".npy", ".fortran.npy", ".big.npy", ".1.npy", ".2.npy", ".3.npy"}) {
      CHECK(same_bits(read_npy((folder / "numpy" / name).string() + ending), tensor));
    }
    write_npy((folder / "tenon" / name).string() + ".npy", tensor);
  }
  write_npz(folder / "tenon/tenon.npz", expected);
  AtomicFile file(folder / "tenon/wide.npz");
  ZipWriter wide(file, 0);  // writes all possible numbers as zip64
  for (const auto& [name, tensor] : expected)
    wide.add(
        name + ".npy", npy_header(tensor.dtype(), tensor.shape()),
        {static_cast<const std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())});
  wide.finish();
  file.commit();
  CHECK(numpy_script("check", folder / "tenon") == 0);
}
