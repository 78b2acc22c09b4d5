// Elementwise operators on csr and row_sparse tensors: the storage is preserved if the function of
// 0 is 0.
#include <doctest/doctest.h>

#include <algorithm>

#include "call_by_hand.hpp"
#include "elementwise_operators.hpp"

using namespace by_hand;
using tenon::DType;
using tenon::Storage;

namespace {

/// A sparse tensor whose pointers stay valid, and memory that the host allocates for an output.
struct Sparse {
  tenon_tensor raw{};
  Dims shape;
  Tensor values;
  std::vector<std::int64_t> indices, row_starts;

  Sparse(Storage storage, DType dtype, Dims dims, Tensor stored_values,
         std::vector<std::int64_t> places, std::vector<std::int64_t> starts)
      : shape(std::move(dims)),
        values(std::move(stored_values)),
        indices(std::move(places)),
        row_starts(std::move(starts)) {
    raw = *values.raw();
    raw.dtype = static_cast<std::uint8_t>(dtype);
    raw.dense.shape = shape.data();
    raw.dense.ndim = static_cast<std::int32_t>(shape.size());
    raw.storage = static_cast<std::uint8_t>(storage);
    raw.index_dtype = TENON_I64;
    raw.stored = static_cast<std::int64_t>(indices.size());
    raw.indices = indices.data();
    raw.row_starts = row_starts.empty() ? nullptr : row_starts.data();
  }
};

int requested_storage = -1;
std::int32_t give(const tenon_call* call, std::uint32_t output, std::int64_t stored,
                  tenon_tensor** out, tenon_error*) {
  requested_storage = static_cast<int>(stored);
  *out = &static_cast<Sparse*>(call->context)[output].raw;
  return 0;
}

std::string forward_sparse(const Instance& instance, void* object, Sparse& in, Sparse& out) {
  tenon_host host{};
  host.size = sizeof host;
  host.parallel_for = parallel_for;
  host.allocate_sparse = give;
  const tenon_tensor* input = &in.raw;
  tenon_tensor* output = &out.raw;
  const std::uint8_t write = TENON_WRITE_TO;
  ErrorText error;
  tenon_call call{};
  call.size = sizeof call;
  call.host = &host;
  call.context = &out;
  call.error = &error.raw;
  call.input_count = call.output_count = 1;
  call.inputs = &input;
  call.outputs = &output;
  call.writes = &write;
  call.dispatch = TENON_FORWARD_SPARSE;
  return instance.table().forward_sparse(object, &call) ? error.text : "";
}

/// The output's storage if the sparse kernel is to run; dense if the input is to be converted to
/// dense.
Storage output_storage(const tenon_operator* table, const Instance::Parameters& parameters,
                       Storage storage) {
  Instance instance(table, parameters);
  ErrorText error;
  const auto input = static_cast<std::uint8_t>(storage);
  std::uint8_t output = TENON_DENSE;
  tenon_infer_storage io{};
  io.size = sizeof io;
  io.error = &error.raw;
  io.input_count = io.output_count = 1;
  io.inputs = &input;
  io.outputs = &output;
  REQUIRE(table->infer_storage(instance.object(), &io) == 0);
  return io.sparse_kernel ? static_cast<Storage>(output) : Storage::dense;
}

tenon_type type_of(const tenon::Shape& shape) {
  tenon_type type{};
  type.rank = shape.rank();
  std::copy(shape.begin(), shape.end(), type.dims);
  return type;
}

/// Like output_storage(), for two inputs. Without a left shape the host provides none.
Storage output_storage_of_two(const tenon_operator* table, Storage left, Storage right,
                              const tenon::Shape& left_shape, const tenon::Shape& right_shape) {
  Instance instance(table);
  ErrorText error;
  const std::uint8_t inputs[] = {static_cast<std::uint8_t>(left), static_cast<std::uint8_t>(right)};
  const tenon_type types[] = {type_of(left_shape), type_of(right_shape)};
  std::uint8_t output = TENON_DENSE;
  tenon_infer_storage io{};
  io.size = sizeof io;
  io.error = &error.raw;
  io.input_count = 2;
  io.output_count = 1;
  io.inputs = inputs;
  io.outputs = &output;
  io.input_types = left_shape.has_rank() ? types : nullptr;
  REQUIRE(table->infer_storage(instance.object(), &io) == 0);
  return io.sparse_kernel ? static_cast<Storage>(output) : Storage::dense;
}

}  // namespace

TEST_CASE("the storage is preserved if the function of 0 is 0 for the object's parameters") {
  const tenon_operator* quadratic = tenon::table_of<Quadratic>();
  for (const Storage storage : {Storage::csr, Storage::row_sparse}) {
    CHECK(output_storage(quadratic, {{"a", 1}, {"b", 2}}, storage) == storage);
    CHECK(output_storage(quadratic, {{"a", 1}, {"c", 1}}, storage) == Storage::dense);
    CHECK(output_storage(tenon::table_of<Tanh>(), {}, storage) == storage);
    CHECK(output_storage(tenon::table_of<Tiny>(), {}, storage) == Storage::dense);
  }
  CHECK(output_storage(quadratic, {}, Storage::dense) == Storage::dense);
  CHECK((tenon::table_of<Choose>()->infer_storage == nullptr));
}

TEST_CASE(
    "two inputs: the storage is preserved if zeros give 0 and the shapes fit, provided that the "
    "host knows them") {
  const Storage csr = Storage::csr, rows = Storage::row_sparse, dense = Storage::dense;
  const tenon::Shape matrix{4, 3}, row{3}, wide{2, 4, 3};
  const struct {
    const tenon_operator* table;
    Storage left, right;
    tenon::Shape left_shape, right_shape;
    Storage output_storage;
  } cases[] = {{tenon::table_of<Product>(), csr, csr, matrix, matrix, csr},
               {tenon::table_of<Product>(), rows, rows, wide, wide, rows},
               {tenon::table_of<Product>(), csr, dense, matrix, row, csr},
               {tenon::table_of<Product>(), dense, csr, row, matrix, csr},
               {tenon::table_of<Product>(), csr, dense, matrix, wide, dense},
               {tenon::table_of<Product>(), csr, csr, matrix, row, dense},
               {tenon::table_of<Product>(), csr, rows, matrix, matrix, dense},
               {tenon::table_of<Product>(), csr, dense, {}, row, dense},
               {tenon::table_of<Difference>(), csr, csr, matrix, matrix, csr},
               {tenon::table_of<Difference>(), csr, dense, matrix, row, dense},
               {tenon::table_of<Ratio>(), csr, dense, matrix, row, csr},
               {tenon::table_of<Ratio>(), dense, csr, row, matrix, dense},
               {tenon::table_of<Ratio>(), csr, csr, matrix, matrix, dense},
               {tenon::table_of<Greater>(), csr, csr, matrix, matrix, csr},
               {tenon::table_of<Gated>(), dense, csr, row, matrix, csr},
               {tenon::table_of<Gated>(), csr, dense, matrix, row, dense},
               {tenon::table_of<Product>(), dense, dense, matrix, matrix, dense}};
  for (const auto& test : cases) {
    CAPTURE(tenon::to_string(test.left_shape));
    CAPTURE(tenon::to_string(test.right_shape));
    CHECK(output_storage_of_two(test.table, test.left, test.right, test.left_shape,
                                test.right_shape) == test.output_storage);
  }
}

TEST_CASE(
    "gradients are sparse where an operand is 0 only if that was evaluated exactly or declared") {
  using tenon::elementwise::gradient_rule;
  CHECK(gradient_rule(Cube{}).by_operand[0][0]);
  CHECK(gradient_rule(Quadratic{{}, 2, 0, 1}).by_operand[0][0]);
  CHECK(!gradient_rule(Quadratic{{}, 2, 1, 0}).by_operand[0][0]);
  CHECK(!gradient_rule(Tiny{}).by_operand[0][0]);
  CHECK(gradient_rule(Difference{}).operands == 0);
  const struct {
    tenon::elementwise::GradientRule rule;
    bool left_by_left, left_by_right, right_by_left, right_by_right;
  } cases[] = {{gradient_rule(Product{}), false, true, true, false},
               {gradient_rule(Ratio{}), false, false, true, false},
               {gradient_rule(Gated{}), false, true, false, false}};
  for (const auto& test : cases) {
    CHECK(test.rule.by_operand[0][0] == test.left_by_left);
    CHECK(test.rule.by_operand[0][1] == test.left_by_right);
    CHECK(test.rule.by_operand[1][0] == test.right_by_left);
    CHECK(test.rule.by_operand[1][1] == test.right_by_right);
  }
}

TEST_CASE("forward_sparse changes the stored values and copies their indices") {
  for (const DType dtype : {tenon::f16, tenon::bf16, tenon::f32, tenon::f64}) {
    Instance instance(tenon::table_of<Quadratic>(), {{"a", 1}, {"b", 2}});
    auto* object = const_cast<void*>(instance.object());

    Sparse csr(Storage::csr, dtype, {3, 4}, Tensor(dtype, {3}, {1, 2, 3}), {0, 3, 1}, {0, 2, 2, 3});
    Sparse csr_out(Storage::csr, dtype, {3, 4}, Tensor(dtype, {3}), {9, 9, 9}, {9, 9, 9, 9});
    REQUIRE(forward_sparse(instance, object, csr, csr_out) == "");
    CHECK(requested_storage == 3);
    CHECK(csr_out.values.values() == Values{3, 8, 15});
    CHECK(csr_out.indices == csr.indices);
    CHECK(csr_out.row_starts == csr.row_starts);
    CHECK(csr_out.values.fenced());

    Sparse rows(Storage::row_sparse, dtype, {5, 2}, Tensor(dtype, {4}, {1, 2, 3, 4}), {1, 4}, {});
    Sparse rows_out(Storage::row_sparse, dtype, {5, 2}, Tensor(dtype, {4}), {9, 9}, {});
    REQUIRE(forward_sparse(instance, object, rows, rows_out) == "");
    CHECK(requested_storage == 2);
    CHECK(rows_out.values.values() == Values{3, 8, 15, 24});
    CHECK(rows_out.indices == rows.indices);

    Sparse empty(Storage::csr, dtype, {2, 2}, Tensor(dtype, {0}), {}, {0, 0, 0});
    Sparse empty_out(Storage::csr, dtype, {2, 2}, Tensor(dtype, {0}), {}, {9, 9, 9});
    REQUIRE(forward_sparse(instance, object, empty, empty_out) == "");
    CHECK(empty_out.row_starts == empty.row_starts);
  }
}
