#include "tensor/sparse/sparse_memory.hpp"

#include <doctest/doctest.h>

#include <latch>
#include <limits>
#include <thread>
#include <vector>

#include "failure_of.hpp"
#include "graph/inference/type.hpp"

using namespace tenon;

namespace {

struct Planned {
  tenon_type type;
  tenon_tensor tensor;
  Planned(const Shape& shape, Storage storage, DType dtype = f32)
      : type(type_of(dtype, shape)), tensor(tensor_of(type, static_cast<std::uint8_t>(storage))) {}
};

}  // namespace

TEST_CASE("sparse memory: reused, and released only once") {
  SparseMemory memory;
  Planned csr({4, 4}, Storage::csr);
  memory.allocate(csr.tensor, 3);
  const auto held = memory.bytes();
  const auto* values = csr.tensor.dense.data;
  memory.allocate(csr.tensor, 2);
  CHECK(csr.tensor.dense.data == values);
  CHECK(memory.bytes() == held);
  for (int i = 0; i < 1000; ++i) memory.allocate(csr.tensor, i % 16);
  CHECK(memory.bytes() <= 2 * (16 * 4 + 16 * 8 + 5 * 8));
}

TEST_CASE("sparse memory: release_checked() skips validation, release() validates") {
  for (const bool checked : {true, false}) {
    SparseMemory memory;
    Planned rows({4, 2}, Storage::row_sparse);
    memory.allocate(rows.tensor, 1);
    const auto* values = rows.tensor.dense.data;
    *static_cast<std::int64_t*>(const_cast<void*>(rows.tensor.indices)) =
        4;  // valid rows are 0 to 3
    CHECK(sparse_fault(rows.tensor) == "row index 0 is 4, but there are 4 rows");
    Tensor given;
    const auto failure = failure_of([&] {
      given = checked ? memory.release_checked(rows.tensor) : memory.release(rows.tensor);
    });
    CHECK(failure.message ==
          (checked ? "" : "row_sparse float32 [4, 2]: row index 0 is 4, but there are 4 rows"));
    REQUIRE(static_cast<bool>(given) == checked);
    if (!checked) continue;
    CHECK(given.shape() == Shape{4, 2});
    CHECK(given.stored_values().data() == values);
    CHECK(given.row_ids().values<std::int64_t>()[0] == 4);
    CHECK(memory.bytes() == 0);
  }
}

TEST_CASE("sparse memory: refuses sizes that overflow or that the shape cannot hold") {
  SparseMemory memory;
  const std::int64_t large = std::int64_t{1} << 31;
  struct Case {
    Shape shape;
    Storage storage;
    std::int64_t stored;
    const char* words;
  };
  for (const auto& [shape, storage, stored, words] :
       {Case{{large, large - 1},
             Storage::csr,
             large * (large - 1),
             "more memory than can be counted"},
        Case{{0, large * 512, large * 512},
             Storage::row_sparse,
             0,
             "more memory than can be counted"},
        Case{{large * (large / 2), 1}, Storage::csr, 0, "more memory than can be counted"},
        Case{{std::numeric_limits<std::int64_t>::max(), 0},
             Storage::csr,
             0,
             "more memory than can be counted"},
        Case{{2, 2}, Storage::csr, 5, "holds at most 4"},
        Case{{2, 2}, Storage::row_sparse, 3, "holds at most 2"},
        Case{{2, 2}, Storage::row_sparse, -1, "holds at most 2"}}) {
    Planned planned(shape, storage);
    CHECK(failure_of([&, &count = stored] {
            memory.allocate(planned.tensor, count);
          }).message.find(words) != std::string::npos);
  }
}

TEST_CASE("sparse memory: threads may allocate different outputs concurrently") {
  constexpr std::size_t each = 50;
  for (int round = 0; round < 50; ++round) {
    SparseMemory memory;
    std::vector<Planned> outputs(4 * each, Planned({64, 64}, Storage::csr));
    for (auto& output : outputs) output.tensor = tensor_of(output.type, TENON_CSR);
    std::latch together(4);
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first < outputs.size(); first += each)
      threads.emplace_back([&, first] {
        together.arrive_and_wait();
        for (auto i = first; i < first + each; ++i) memory.allocate(outputs[i].tensor, 64);
      });
    for (auto& thread : threads) thread.join();
    CHECK(memory.bytes() == 4 * each * (64 * 4 + 64 * 8 + 65 * 8));  // no allocation was lost
  }
}
