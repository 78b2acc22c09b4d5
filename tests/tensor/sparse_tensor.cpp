#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <tenon/host/cast_storage.hpp>

#include "check_says.hpp"
#include "expanded.hpp"
#include "failure_of.hpp"

using namespace tenon;
using Ints64 = std::vector<std::int64_t>;
using Ints32 = std::vector<std::int32_t>;
using Floats32 = std::vector<float>;

namespace {

// 1 0 2
// 0 0 0
// 0 3 0
template <class Index = std::int64_t>
Tensor small_csr() {
  return Tensor::csr(list(Floats32{1, 2, 3}), list(std::vector<Index>{0, 2, 1}),
                     list(std::vector<Index>{0, 2, 2, 3}), {3, 3});
}

// Rows 1 and 4 of six.
template <class Index = std::int64_t>
Tensor small_rows() {
  return Tensor::row_sparse(Tensor::from(Floats32{1, 2, 3, 4}, {2, 2}),
                            list(std::vector<Index>{1, 4}), {6, 2});
}

}  // namespace

TEST_CASE("sparse tensors: have their arrays, also across the ABI") {
  const Tensor values = list(Floats32{1, 2, 3}), columns = list(Ints32{0, 2, 1}),
               starts = list(Ints32{0, 2, 2, 3});
  const Tensor csr = Tensor::csr(values, columns, starts, {3, 3});
  CHECK(csr.storage() == Storage::csr);
  CHECK(csr.dtype() == f32);
  CHECK(csr.index_dtype() == i32);
  CHECK(csr.shape() == Shape{3, 3});
  CHECK(csr.size() == 9);
  CHECK(csr.stored() == 3);
  CHECK(csr.bytes() == 12 + 12 + 16);
  CHECK(csr.stored_values().data() == values.data());
  // the caller must not be able to write indices that kernels follow
  CHECK(csr.columns().data() != columns.data());
  CHECK(csr.row_starts().data() != starts.data());
  CHECK(csr.columns().read_only());
  CHECK(csr.row_starts().read_only());
  CHECK_FALSE(csr.read_only());
  CHECK(expanded(csr) == std::vector<double>{1, 0, 2, 0, 0, 0, 0, 3, 0});
  const tenon_tensor& abi = csr.abi();
  CHECK(abi.storage == TENON_CSR);
  CHECK(abi.index_dtype == TENON_I32);
  CHECK(abi.stored == 3);
  CHECK(abi.dense.ndim == 2);
  CHECK(abi.dense.data == values.data());
  CHECK(abi.dense.strides == nullptr);
  CHECK(abi.indices == csr.columns().data());
  CHECK(abi.row_starts == csr.row_starts().data());

  const Tensor rows = small_rows();
  CHECK(rows.storage() == Storage::row_sparse);
  CHECK(rows.index_dtype() == i64);
  CHECK(rows.size() == 12);
  CHECK(rows.stored() == 2);
  CHECK(rows.bytes() == 16 + 16);
  CHECK(rows.abi().row_starts == nullptr);
  CHECK(rows.abi().indices == rows.row_ids().data());
  CHECK(expanded(rows) == std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0});
  CHECK(Tensor::from({1.0f}, {1}).storage() == Storage::dense);
  CHECK(Tensor::from({1.0f}, {1}).stored() == 0);
}

TEST_CASE("sparse tensors: keep their indices when the caller overwrites its own") {
  std::vector<std::int64_t> columns{0, 2, 1}, starts{0, 2, 2, 3}, ids{1, 4};
  const auto borrowed = [](std::vector<std::int64_t>& from) {
    return Tensor::borrow(from.data(), i64, {static_cast<std::int64_t>(from.size())});
  };
  const Tensor csr =
      Tensor::csr(list(Floats32{1, 2, 3}), borrowed(columns), borrowed(starts), {3, 3});
  const Tensor rows =
      Tensor::row_sparse(Tensor::from(Floats32{1, 2, 3, 4}, {2, 2}), borrowed(ids), {6, 2});
  const Tensor whole = small_csr();
  const auto own = whole.columns().values<std::int64_t>();
  std::vector<std::int64_t> abi_columns(own.begin(), own.end());
  tenon_tensor abi = whole.abi();
  abi.indices = abi_columns.data();
  const Tensor back = Tensor::borrow(abi);
  const auto before = expanded(back);
  for (auto* list : {&columns, &starts, &ids, &abi_columns})
    std::fill(list->begin(), list->end(), 1'000'000'000);
  CHECK(expanded(csr) == std::vector<double>{1, 0, 2, 0, 0, 0, 0, 3, 0});
  CHECK(expanded(rows) == std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0});
  CHECK(expanded(back) == before);
  const Tensor again = Tensor::csr(csr.stored_values(), csr.columns(), csr.row_starts(), {3, 3});
  CHECK(again.columns().data() == csr.columns().data());  // already its own
}

TEST_CASE(
    "sparse tensors: a round trip across the ABI returns the same tensor and keeps its owner") {
  for (const Tensor& tensor : {small_csr(), small_csr<std::int32_t>(), small_rows(),
                               small_rows<std::int32_t>(), Tensor::from({1.0f, 2.0f}, {2})}) {
    const auto owner = std::make_shared<int>(0);
    {
      const Tensor back = Tensor::borrow(tensor.abi(), owner);
      CHECK(same_bits(back, tensor));
      CHECK(back.stored_values().data() == tensor.stored_values().data());
      CHECK(owner.use_count() > 1);
    }
    CHECK(owner.use_count() == 1);
  }
}

TEST_CASE("sparse tensors: copies share the arrays, clones do not") {
  for (const Tensor& tensor : {small_csr(), small_rows()}) {
    const Tensor copy = tensor, clone = tensor.clone();
    CHECK(same_bits(clone, tensor));
    tensor.stored_values().data<float>()[0] = 9;
    CHECK(same_bits(copy, tensor));
    CHECK_FALSE(same_bits(clone, tensor));
    CHECK(clone.abi().indices != tensor.abi().indices);
    CHECK(tensor.make_contiguous().abi().indices == tensor.abi().indices);
  }
  CHECK(small_csr().clone().abi().row_starts != nullptr);
}

TEST_CASE("sparse tensors: equal by storage, indices, index dtype and bits") {
  const Tensor csr = small_csr();
  const struct {
    Tensor other;
    bool same;
  } cases[] = {
      {small_csr(), true},
      {small_csr<std::int32_t>(), false},
      {small_rows(), false},
      {cast_storage(csr, Storage::dense), false},
      {Tensor::csr(list(Floats32{1, 2, 3}), list(Ints64{0, 2, 2}), list(Ints64{0, 2, 2, 3}),
                   {3, 3}),
       false},
      {Tensor::csr(list(Floats32{1, 2, 3}), list(Ints64{0, 2, 1}), list(Ints64{0, 2, 3, 3}),
                   {3, 3}),
       false},
      {Tensor::csr(list(Floats32{1, 2, 4}), list(Ints64{0, 2, 1}), list(Ints64{0, 2, 2, 3}),
                   {3, 3}),
       false},
      {Tensor::csr(list(Floats32{1, 2, 3}), list(Ints64{0, 2, 1}), list(Ints64{0, 2, 2, 3}),
                   {3, 4}),
       false},
      {Tensor::csr(list(std::vector<double>{1, 2, 3}), list(Ints64{0, 2, 1}),
                   list(Ints64{0, 2, 2, 3}), {3, 3}),
       false},
      {Tensor(), false},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    CAPTURE(i);
    CHECK(same_bits(csr, cases[i].other) == cases[i].same);
    CHECK(same_bits(cases[i].other, csr) == cases[i].same);
  }
  CHECK_FALSE(same_bits(
      small_rows(), Tensor::row_sparse(small_rows().stored_values(), list(Ints64{1, 5}), {6, 2})));
}

TEST_CASE("sparse tensors: text") {
  const Tensor none = Tensor::csr(list(Floats32{}), list(Ints64{}), list(Ints64{0, 0, 0}), {2, 5});
  const struct {
    Tensor tensor;
    std::int64_t limit;
    const char* text;
  } cases[] = {
      {small_csr(), 16, "csr float32 [3, 3], 3 stored  (0, 0) 1 (0, 2) 2 (2, 1) 3"},
      {small_csr<std::int32_t>(), 2, "csr float32 [3, 3], 3 stored  (0, 0) 1 (0, 2) 2 ..."},
      {small_csr(), 0, "csr float32 [3, 3], 3 stored  ..."},
      {none, 16, "csr float32 [2, 5], 0 stored"},
      {small_rows(), 16, "row_sparse float32 [6, 2], 2 stored  (1) 1 2 (4) 3 4"},
      {small_rows<std::int32_t>(), 3, "row_sparse float32 [6, 2], 2 stored  (1) 1 2 (4) 3 ..."},
      {Tensor::row_sparse(Tensor::zeros(i8, {2, 0}), list(Ints64{0, 1}), {3, 0}), 16,
       "row_sparse int8 [3, 0], 2 stored"},
  };
  for (const auto& test : cases) CHECK(test.tensor.to_string(test.limit) == test.text);
}

TEST_CASE("sparse tensors: refuse invalid arrays with a message") {
  const Tensor values = list(Floats32{1, 2, 3}), columns = list(Ints64{0, 2, 1}),
               starts = list(Ints64{0, 2, 2, 3});
  const Tensor matrix = Tensor::from(Floats32{1, 2, 3, 4}, {2, 2}), ids = list(Ints64{1, 4});
  const struct {
    std::function<Tensor()> make;
    const char* message;
  } cases[] = {
      {[&] { return Tensor::csr(values, columns, starts, {3}); },
       "csr float32 [3]: csr needs two dimensions"},
      {[&] {
         return Tensor::csr(values, columns, starts, {3, -1});
       },
       "a tensor needs a known shape, not [3, ?]"},
      {[&] {
         return Tensor::csr(values, columns, starts, {INT64_MAX, INT64_MAX});
       },
       "a tensor of float32 [9223372036854775807, 9223372036854775807] has more bytes than can be "
       "counted"},
      {[&] {
         return Tensor::csr(values, columns, starts, {INT64_MAX, 0});
       },
       "csr float32 [9223372036854775807, 0]: it has more rows than can be counted"},
      {[&] {
         return Tensor::csr(values, values, starts, {3, 3});
       },
       "csr float32 [3, 3]: its columns are float32 but must be int32 or int64"},
      {[&] {
         return Tensor::csr(values, Tensor::zeros(i64, {3, 1}), starts, {3, 3});
       },
       "csr float32 [3, 3]: its columns have shape [3, 1] but must be a list"},
      {[&] {
         return Tensor::csr(values, ids, starts, {3, 3});
       },
       "csr float32 [3, 3]: its values have shape [3], but its columns, [2], need [2]"},
      {[&] {
         return Tensor::csr(values, columns, starts.reshape({2, 2}), {3, 3});
       },
       "csr float32 [3, 3]: its row starts have shape [2, 2] but must be a list"},
      {[&] {
         return Tensor::csr(values, columns, list(Ints32{0, 2, 2, 3}), {3, 3});
       },
       "csr float32 [3, 3]: its columns are int64, but its row starts are int32"},
      {[&] {
         return Tensor::csr(values, columns, starts, {4, 3});
       },
       "csr float32 [4, 3]: its row starts take 32 bytes, but need 5 entries of 8 bytes"},
      {[&] {
         return Tensor::csr(values, columns, list(Ints64{0, 3, 2, 3}), {3, 3});
       },
       "csr float32 [3, 3]: row 1 starts at 3, but row 2 starts at 2: row starts must not "
       "decrease"},
      {[&] {
         return Tensor::csr(values, columns, list(Ints64{0, 2, 2, 4}), {3, 3});
       },
       "csr float32 [3, 3]: its row starts go from 0 to 4, not from 0 to 3"},
      {[&] {
         return Tensor::csr(values, columns, starts, {3, 2});
       },
       "csr float32 [3, 2]: column index 1 is 2, but there are 2 columns"},
      {[&] {
         return Tensor::csr(values, list(Ints64{2, 0, 1}), starts, {3, 3});
       },
       "csr float32 [3, 3]: column 1 is 0, after 2: they must be strictly increasing"},
      {[&] {
         return Tensor::csr(values, list(Ints64{2, 2, 1}), starts, {3, 3});
       },
       "csr float32 [3, 3]: column 1 is 2, after 2: they must be strictly increasing"},
      {[&] {
         return Tensor::csr(Tensor(), columns, starts, {3, 3});
       },
       "this tensor is empty: it has no dtype, shape or elements"},
      {[&] { return Tensor::row_sparse(matrix, ids, Shape::scalar()); },
       "row_sparse float32 []: row_sparse needs at least one dimension"},
      {[&] {
         return Tensor::row_sparse(matrix, ids, {6, 3});
       },
       "row_sparse float32 [6, 3]: its values have shape [2, 2], but its row ids, [2], need [2, "
       "3]"},
      {[&] {
         return Tensor::row_sparse(matrix, list(Ints64{4, 1}), {6, 2});
       },
       "row_sparse float32 [6, 2]: row 1 is 1, after 4: they must be strictly increasing"},
      {[&] {
         return Tensor::row_sparse(matrix, ids, {4, 2});
       },
       "row_sparse float32 [4, 2]: row index 1 is 4, but there are 4 rows"},
      {[&] {
         return Tensor::row_sparse(matrix, list(Ints64{-1, 1}), {4, 2});
       },
       "row_sparse float32 [4, 2]: row index 0 is -1, but there are 4 rows"},
      {[&] {
         return Tensor::row_sparse(small_rows(), list(Ints64{0, 1, 2, 3, 4, 5}), {6, 2});
       },
       "a dense tensor is needed, but this one is row_sparse float32 [6, 2]"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.message);
    const FailureText failure = failure_of([&] { test.make(); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == test.message);
  }
}

TEST_CASE("sparse tensors: every field of the ABI struct is validated") {
  const Tensor csr = small_csr();
  const struct {
    std::function<void(tenon_tensor&)> change;
    const char* message;
  } cases[] = {
      {[](tenon_tensor& t) { t.size = 8; }, "this tenon_tensor has 8 bytes but needs 88"},
      {[](tenon_tensor& t) { t.dense.device_type = 99; },
       "a tensor is on device 0 of DLPack type 99, which this machine does not have"},
      {[](tenon_tensor& t) { t.dense.ndim = 9; },
       "this tenon_tensor has 9 dimensions, but at most 8 are supported"},
      {[](tenon_tensor& t) { t.dense.shape = nullptr; }, "this tenon_tensor has no shape"},
      {[](tenon_tensor& t) { t.dtype = 25; }, "this tenon_tensor has unknown dtype 25"},
      {[](tenon_tensor& t) { t.storage = 3; }, "this tenon_tensor has unknown storage 3"},
      {[](tenon_tensor& t) { t.index_dtype = TENON_F32; },
       "this tenon_tensor has indices of dtype 7 but needs int32 or int64"},
      {[](tenon_tensor& t) { t.stored = -1; }, "this tenon_tensor has -1 stored entries"},
      {[](tenon_tensor& t) { t.stored = 2; },
       "csr float32 [3, 3]: its row starts go from 0 to 3, not from 0 to 2"},
      {[](tenon_tensor& t) { t.indices = nullptr; },
       "a tensor of int64 [3] needs memory, not a null pointer"},
      {[](tenon_tensor& t) { t.row_starts = static_cast<const char*>(t.row_starts) + 4; },
       "int64 elements must be aligned to 8 bytes"},
      {[](tenon_tensor& t) { t.dense.strides = t.dense.shape; },
       "this tenon_tensor is csr but has strides"},
      {[](tenon_tensor& t) { t.dense.ndim = 1; },
       "csr float32 [3]: csr needs two dimensions and fewer than 2^63 - 1 rows"},
  };
  for (const auto& test : cases) {
    tenon_tensor changed = csr.abi();
    test.change(changed);
    CHECK(failure_of([&] { Tensor::borrow(changed); }).message == test.message);
  }
}

TEST_CASE("sparse tensors: refuse operations on dense tensors only") {
  const Tensor csr = small_csr(), rows = small_rows();
  const char* const dense_needed = "a dense tensor is needed, but this one is csr float32 [3, 3]";
  const struct {
    std::function<void()> call;
    const char* message;
  } cases[] = {
      {[&] { csr.data(); }, dense_needed},
      {[&] { csr.data<float>(); }, dense_needed},
      {[&] { csr.values<float>(); }, dense_needed},
      {[&] { csr.strides(); }, dense_needed},
      {[&] { csr.reshape({9}); }, dense_needed},
      {[&] { csr.to_dlpack(); }, dense_needed},
      {[&] { csr.row_ids(); }, "a csr tensor has no row ids"},
      {[&] { rows.columns(); }, "a row_sparse tensor has no columns"},
      {[&] { rows.row_starts(); }, "a row_sparse tensor has no row starts"},
      {[&] { rows.stored_values().index_dtype(); }, "a dense tensor has no indices"},
  };
  for (const auto& test : cases) {
    const FailureText failure = failure_of(test.call);
    CHECK(failure.kind == 2);
    CHECK(failure.message == test.message);
  }
  check_says(failure_of([&] { csr.data(); }).hint,
             {"cast_storage(tensor, Storage::dense)", "stored_values()"});
}
