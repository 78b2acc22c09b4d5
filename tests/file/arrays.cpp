// Arrays in files, through the library's public functions.
#include <doctest/doctest.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

TEST_CASE("arrays: saved arrays load again, whole or by rows") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const auto matrix = arange(f32, 12).reshape({4, 3});
  save_array(path("x.npy"), matrix);
  CHECK(same_bits(load_array(path("x.npy")), matrix));
  CHECK(same_bits(load_array(path("x.npy[1:3]")), rows(matrix, 1, 3)));
  const auto sparse = cast_storage(matrix, Storage::csr);
  save_array(path("x.npz"), sparse);
  CHECK(same_bits(load_array(path("x.npz")), sparse));
  save_arrays(path("both.npz"), {{"a", matrix}, {"b", arange(i64, 3)}});
  const auto both = load_arrays(path("both.npz"));
  REQUIRE(both.size() == 2);
  CHECK(same_bits(both.at("a"), matrix));
  CHECK(same_bits(both.at("b"), arange(i64, 3)));
}

TEST_CASE("arrays: invalid requests to save or load are refused") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  save_arrays(path("both.npz"), {{"a", arange(i64, 3)}, {"b", arange(i64, 3)}});
  const auto several = failure_of([&] { load_array(path("both.npz")); });
  CHECK(several.kind == 2);
  CHECK(several.message == "'" + path("both.npz") + "' holds 2 arrays but exactly one is needed");
  CHECK(several.hint == "it has a, b; load_arrays() reads them all by name");
  CHECK(failure_of([&] { load_array(path("none.npy")); }).kind == 4);
  CHECK(failure_of([&] { load_arrays(path("x.npy")); }).message ==
        "several arrays are stored in .npz files; '" + path("x.npy") + "' has a different suffix");
  CHECK(failure_of([&] { save_array(path("x.txt"), arange(f32, 1)); }).message ==
        "dense arrays are stored in .npy files; '" + path("x.txt") + "' has a different suffix");
  CHECK(failure_of([&] {
          save_array(path("x.npy"), cast_storage(ones(f32, {1, 1}), Storage::csr));
        }).message ==
        "sparse arrays are stored in .npz files; '" + path("x.npy") + "' has a different suffix");
  CHECK_FALSE(std::filesystem::exists(path("x.npy")));
}

TEST_CASE("arrays: load_input converts to the type of a graph's input, or refuses") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const auto input = [](DType dtype, Storage storage) {
    return ValueInfo{
        .name = "x", .role = Role::input, .dtype = dtype, .shape = {-1}, .storage = storage};
  };
  const auto bytes = arange(u8, 3);
  save_array(path("x.npy"), bytes);
  CHECK(same_bits(load_input(path("x.npy"), input(f32, Storage::dense)), arange(f32, 3)));
  CHECK(same_bits(load_input(path("x.npy[1:]"), input(i32, Storage::row_sparse)),
                  cast_storage(arange(i32, 2, 1), Storage::row_sparse)));
  CHECK(same_bits(load_input(path("x.npy"), ValueInfo{.name = "x"}),
                  bytes));  // nothing is declared, so nothing is converted
  write_bytes(path("x.svm"), "1000000 1:1\n");
  CHECK(
      same_bits(load_input(path("x.svm:labels"), input(f32, Storage::dense)), full(f32, {1}, 1e6)));
  CHECK(failure_of([&] { load_input(path("x.svm:labels"), input(f16, Storage::dense)); }).message ==
        "'" + path("x.svm") + "' has the label 1000000, which does not fit float16");
  save_arrays(path("all.npz"), {{"x", bytes}, {"y", arange(i64, 3)}});
  CHECK(same_bits(load_input(path("all.npz"), input(u8, Storage::dense)), bytes));
  save_array(path("wide.npy"), arange(f64, 3));
  check_says(failure_of([&] { load_input(path("wide.npy"), input(f32, Storage::dense)); }).message,
             {"input 'x' is float64 in its file", "needs float32", "cannot hold every value"});
}

TEST_CASE("arrays: an input accepts another dtype only if every value survives") {
  const TemporaryFolder folder;
  const auto path = (folder / "x.npy").string();
  const DType all[] = {boolean, u8, i8, i32, i64, f16, f32, f64};
  const std::map<DType, std::vector<DType>> taken_as{{boolean, {i32, i64, f32, f64}},
                                                     {u8, {i32, i64, f32, f64}},
                                                     {i8, {i32, i64, f32, f64}},
                                                     {i32, {i64, f64}},
                                                     {i64, {}},
                                                     {f16, {f32, f64}},
                                                     {f32, {f64}},
                                                     {f64, {}}};
  for (const auto from : all) {
    save_array(path, Tensor::zeros(from, {2}));
    for (const auto to : all) {
      CAPTURE(from);
      CAPTURE(to);
      auto read = from;
      const ValueInfo input{.name = "x", .role = Role::input, .dtype = to, .shape = {2}};
      const auto failure = failure_of([&] { read = load_input(path, input).dtype(); });
      const auto& others = taken_as.at(from);
      const bool taken = from == to || std::count(others.begin(), others.end(), to) == 1;
      CHECK(failure.kind == (taken ? 0 : 2));
      CHECK(read == (taken ? to : from));
    }
  }
}

TEST_CASE("arrays: a .npy file of any name") {
  const TemporaryFolder folder;
  save_npy(folder / "numbers", arange(f32, 3));
  CHECK(same_bits(load_array((folder / "numbers").string()), arange(f32, 3)));
}

TEST_CASE("arrays: a .npy file that does not fit on the disk leaves the old one intact") {
  const TemporaryFolder folder;
  save_npy(folder / "x.npy", arange(f32, 3));
  const auto failure = failure_of([&] {
    const FileSizeLimit full_disk(10000);
    save_npy(folder / "x.npy", Tensor::zeros(f32, {5000}));
  });
  CHECK(failure.kind == 1);
  CHECK(failure.message ==
        "cannot write " + (folder / "x.npy").string() + ": it would exceed the maximum file size");
  CHECK(same_bits(load_array((folder / "x.npy").string()), arange(f32, 3)));
  CHECK(folder.names() == std::vector<std::string>{"x.npy"});
}
