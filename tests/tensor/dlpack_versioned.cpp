// DLPack 1.x and read-only memory.
#include "tensor/dlpack_versioned.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <tenon/host/tensor.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "failure_of.hpp"

using namespace tenon;

// The layout that the DLPack 1.0 specification gives on 64-bit systems.
static_assert(sizeof(DLPackVersion) == 8 && offsetof(DLPackVersion, major) == 0 &&
              offsetof(DLPackVersion, minor) == 4);
static_assert(sizeof(DLManagedTensorVersioned) == 80);
static_assert(offsetof(DLManagedTensorVersioned, version) == 0 &&
              offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16 &&
              offsetof(DLManagedTensorVersioned, flags) == 24);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

namespace {

struct Giver {
  alignas(16) std::array<std::byte, 256> memory{};
  std::int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  DLManagedTensorVersioned managed{};
  int deleted = 0;

  explicit Giver(std::uint64_t flags = 0, DLDataType type = {kDLFloat, 32, 1}) {
    managed = {
        {1, 3},
        this,
        [](DLManagedTensorVersioned* self) { ++static_cast<Giver*>(self->manager_ctx)->deleted; },
        flags,
        {memory.data(), {kDLCPU, 0}, 2, type, shape, strides, 16}};
  }
};

const struct {
  DType dtype;
  std::uint8_t code, bits;
} kinds[] = {
    {boolean, 6, 8},     {u8, 1, 8},      {u16, 1, 16},        {u32, 1, 32},
    {u64, 1, 64},        {i8, 0, 8},      {i16, 0, 16},        {i32, 0, 32},
    {i64, 0, 64},        {bf16, 4, 16},   {f16, 2, 16},        {f32, 2, 32},
    {f64, 2, 64},        {c64, 5, 64},    {c128, 5, 128},      {f8e4m3fn, 10, 8},
    {f8e4m3fnuz, 11, 8}, {f8e5m2, 12, 8}, {f8e5m2fnuz, 13, 8}, {f8e8m0fnu, 14, 8},
    {f4e2m1fn, 17, 4},   {i4, 0, 4},      {u4, 1, 4},          {i2, 0, 2},
    {u2, 1, 2},
};
static_assert(std::size(kinds) == dtype_count);

}  // namespace

TEST_CASE("DLPack 1.x export: keeps the elements alive and sets the read-only flag") {
  for (const auto& type : kinds) {
    CAPTURE(name_of(type.dtype));
    for (const bool read_only : {false, true}) {
      Tensor tensor = Tensor::zeros(type.dtype, {2, 3});
      const void* const data = tensor.data();
      if (read_only)
        tensor = Tensor::borrow_read_only(data, type.dtype, {2, 3}, {},
                                          std::make_shared<Tensor>(tensor));
      auto* const managed = tensor.to_dlpack_versioned();
      tensor = {};
      const bool padded = type.bits < 8;
      CHECK(managed->version.major == 1);
      CHECK(managed->version.minor == (padded ? 1 : 0));
      CHECK(managed->flags == (read_only ? 1 : 0) + (padded ? 4 : 0));
      const DLTensor& dense = managed->dl_tensor;
      CHECK(dense.data == data);
      CHECK(dense.device.device_type == kDLCPU);
      CHECK(std::array<int, 3>{dense.dtype.code, dense.dtype.bits, dense.dtype.lanes} ==
            std::array<int, 3>{type.code, type.bits, 1});
      REQUIRE(dense.ndim == 2);
      CHECK(std::vector(dense.shape, dense.shape + 2) == std::vector<std::int64_t>{2, 3});
      CHECK(std::vector(dense.strides, dense.strides + 2) == std::vector<std::int64_t>{3, 1});
      CHECK(static_cast<const unsigned char*>(data)[5] ==
            0);  // AddressSanitizer would report freed memory
      managed->deleter(managed);
    }
  }
}

TEST_CASE(
    "DLPack 1.x import: shares the producer's memory, honors the read-only flag, calls the deleter "
    "once") {
  for (const auto& type : kinds) {
    CAPTURE(name_of(type.dtype));
    for (const std::uint64_t flags : {0, 1, 2, 3}) {
      CAPTURE(flags);
      Giver foreign(flags | (type.bits < 8 ? 4 : 0), {type.code, type.bits, 1});
      Tensor tensor = Tensor::from_dlpack(&foreign.managed), copy = tensor;
      CHECK(tensor.dtype() == type.dtype);
      CHECK(tensor.shape() == Shape{2, 3});
      CHECK(tensor.strides() == std::vector<std::int64_t>{1, 2});
      CHECK(tensor.data() == foreign.memory.data() + 16);
      CHECK(tensor.read_only() == (flags % 2 == 1));
      tensor = {};
      CHECK(foreign.deleted == 0);
      copy = {};
      CHECK(foreign.deleted == 1);
    }
  }
}

TEST_CASE("DLPack 1.x: a round trip returns the same tensor") {
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  for (const auto& tensor :
       {Tensor::from({1, 2, 3, 4, 5, 6}, {3, 2}), Tensor::borrow_read_only(numbers, f32, {3, 2})}) {
    const Tensor back = Tensor::from_dlpack(tensor.to_dlpack_versioned());
    CHECK(back.data() == tensor.data());
    CHECK(back.read_only() == tensor.read_only());
    CHECK(same_bits(back, tensor));
  }
}

TEST_CASE("DLPack 1.x import: refused tensors still belong to the producer") {
  const struct {
    void (*change)(DLManagedTensorVersioned&);
    const char* reason;
  } cases[] = {
      {[](auto& m) { m.version.major = 0; }, "it is of DLPack 0.3, but only 1.x is supported"},
      {[](auto& m) {
         m.version = {2, 1};
         m.dl_tensor.ndim = 9;  // must not be read
       },
       "it is of DLPack 2.1, but only 1.x is supported"},
      {[](auto& m) { m.dl_tensor.ndim = 9; }, "it has 9 dimensions, but at most 8 are supported"},
      {[](auto& m) {
         m.dl_tensor.dtype = {9, 8, 1};
       },
       "Tenon has no dtype with type code 9, 8 bits and 1 lanes"},
  };
  for (const auto& test : cases) {
    Giver foreign;
    test.change(foreign.managed);
    const auto failure = failure_of([&] { Tensor::from_dlpack(&foreign.managed); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == std::string("cannot take this DLPack tensor: ") + test.reason);
    CHECK(foreign.deleted == 0);
  }
  Giver foreign;
  foreign.managed.dl_tensor.byte_offset = 2;
  CHECK(failure_of([&] {
          Tensor::from_dlpack(&foreign.managed);
        }).message.find("aligned to 4 bytes") != std::string::npos);
  CHECK(foreign.deleted == 0);
  CHECK(failure_of([] {
          Tensor::from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr));
        }).kind == 2);
  const auto csr = Tensor::csr(Tensor::from({5.f}, {1}), Tensor::from({1}, {1}),
                               Tensor::from({0, 1}, {2}), {1, 2});
  CHECK(failure_of([&] {
          csr.to_dlpack_versioned();
        }).message.starts_with("a dense tensor is needed"));
}

TEST_CASE("DLPack 0.x export: refuses read-only tensors") {
  const float numbers[] = {1, 2};
  const auto failure = failure_of([&] { Tensor::borrow_read_only(numbers, f32, {2}).to_dlpack(); });
  CHECK(failure.kind == 2);
  CHECK(failure.message == "this tensor is read-only, which DLPack 0.x cannot express");
}

TEST_CASE("read-only tensors: views are read-only, copies are not") {
  const float numbers[] = {1, 2, 3, 4};
  const std::int64_t turned[] = {1, 2};
  const Tensor tensor = Tensor::borrow_read_only(numbers, f32, {2, 2});
  CHECK(tensor.read_only());
  CHECK(tensor.reshape({4}).read_only());
  CHECK(tensor.reshape({4}).reshape({2, 2}).read_only());
  CHECK(tensor.stored_values().read_only());
  CHECK(tensor.make_contiguous().read_only());
  CHECK(tensor.to("cpu").read_only());
  CHECK(rows(tensor, 1, 2).read_only());
  CHECK(rows(tensor, 0, 2).read_only());
  CHECK_FALSE(tensor.clone().read_only());
  CHECK_FALSE(rows(tensor.clone(), 1, 2).read_only());
  const Tensor strided = Tensor::borrow_read_only(numbers, f32, {2, 2}, turned);
  CHECK(strided.read_only());
  CHECK_FALSE(strided.make_contiguous().read_only());
  CHECK(same_bits(strided.make_contiguous(), Tensor::from({1.f, 3.f, 2.f, 4.f}, {2, 2})));
  float own[] = {1, 2};
  CHECK_FALSE(Tensor::borrow(own, f32, {2}).read_only());
  CHECK(failure_of([] { Tensor().read_only(); }).kind == 2);
}

// Indices are copied and never written, so only the values matter.
TEST_CASE("read-only tensors: a sparse one is read-only if its values are") {
  const float numbers[] = {5};
  const std::int32_t columns[] = {1}, starts[] = {0, 1};
  const auto values = Tensor::from({5.f}, {1}), column = Tensor::from({1}, {1}),
             start = Tensor::from({0, 1}, {2});
  const auto read_only = [](const auto& array) {
    using Element = std::remove_cvref_t<decltype(array[0])>;
    return Tensor::borrow_read_only(array, dtype_of<Element>,
                                    {static_cast<std::int64_t>(std::size(array))});
  };
  CHECK_FALSE(Tensor::csr(values, column, start, {1, 2}).read_only());
  CHECK(Tensor::csr(read_only(numbers), column, start, {1, 2}).read_only());
  CHECK_FALSE(Tensor::csr(values, read_only(columns), start, {1, 2}).read_only());
  const auto sparse = Tensor::csr(values, column, read_only(starts), {1, 2});
  CHECK_FALSE(sparse.read_only());
  CHECK(sparse.row_starts().read_only());
  CHECK_FALSE(sparse.stored_values().read_only());
  CHECK_FALSE(sparse.clone().read_only());
  CHECK(Tensor::row_sparse(read_only(numbers), column, {2}).read_only());
}

TEST_CASE("DLPack: elements of 4 and 2 bits take a byte each, which DLPack 1.1 can say") {
  for (const auto& type : kinds) {
    if (type.bits >= 8) continue;
    CAPTURE(name_of(type.dtype));
    Giver foreign(0, {type.code, type.bits, 1});
    CHECK(failure_of([&] {
            Tensor::from_dlpack(&foreign.managed);
          }).message.ends_with("are packed into bytes, but Tenon's take a byte each"));
    CHECK(foreign.deleted == 0);
    const auto tensor = Tensor::zeros(type.dtype, {2, 3});
    CHECK(failure_of([&] {
            tensor.to_dlpack();
          }).message.ends_with("which DLPack before 1.1 cannot express"));
    auto* const managed = tensor.to_dlpack_versioned();
    CHECK(same_bits(Tensor::from_dlpack(managed), tensor));
  }
}
