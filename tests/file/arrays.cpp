// Arrays in files, by the library's public functions.
#include <doctest/doctest.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "failure_of.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

TEST_CASE("arrays: what is saved is loaded, whole or in rows") {
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

TEST_CASE("arrays: what cannot be saved or loaded is refused") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  save_arrays(path("both.npz"), {{"a", arange(i64, 3)}, {"b", arange(i64, 3)}});
  CHECK(failure_of([&] { load_array(path("both.npz")); }).kind == 2);
  CHECK(failure_of([&] { load_array(path("none.npy")); }).kind == 4);
  CHECK(failure_of([&] { load_arrays(path("x.npy")); }).message ==
        "several arrays go into .npz files, and '" + path("x.npy") + "' is not one");
  CHECK(failure_of([&] { save_array(path("x.txt"), arange(f32, 1)); }).message ==
        "dense arrays go into .npy files, and '" + path("x.txt") + "' is not one");
  CHECK(failure_of([&] {
          save_array(path("x.npy"), cast_storage(ones(f32, {1, 1}), Storage::csr));
        }).message == "sparse arrays go into .npz files, and '" + path("x.npy") + "' is not one");
  CHECK_FALSE(std::filesystem::exists(path("x.npy")));
}

TEST_CASE("arrays: a file becomes what an input of a graph needs, or is refused") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const auto input = [](DType dtype, Storage storage) {
    return ValueInfo{.name = "x", .role = Role::input, .dtype = dtype, .shape = {-1}, .storage = storage};
  };
  const auto bytes = arange(u8, 3);
  save_array(path("x.npy"), bytes);
  CHECK(same_bits(load_input(path("x.npy"), input(f32, Storage::dense)), arange(f32, 3)));
  CHECK(same_bits(load_input(path("x.npy[1:]"), input(i32, Storage::row_sparse)), cast_storage(arange(i32, 2, 1), Storage::row_sparse)));
  CHECK(same_bits(load_input(path("x.npy"), ValueInfo{.name = "x"}), bytes));  // nothing is known, nothing is converted
  save_arrays(path("all.npz"), {{"x", bytes}, {"y", arange(i64, 3)}});
  CHECK(same_bits(load_input(path("all.npz"), input(u8, Storage::dense)), bytes));
  save_array(path("wide.npy"), arange(f64, 3));
  CHECK(failure_of([&] { load_input(path("wide.npy"), input(f32, Storage::dense)); }).message ==
        "input 'x' is float64 in its file but the graph needs float32, and not every value would survive that");
}

TEST_CASE("arrays: a .npy file of any name") {
  const TemporaryFolder folder;
  save_npy(folder / "numbers", arange(f32, 3));
  CHECK(same_bits(load_array((folder / "numbers").string()), arange(f32, 3)));
}
