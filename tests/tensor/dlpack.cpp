#include <dlpack/dlpack.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <tenon/host/tensor.hpp>

#include "failure_of.hpp"

using namespace tenon;

// The ABI's tenon_dense has the layout of DLTensor, field by field.
static_assert(sizeof(tenon_dense) == sizeof(DLTensor) && alignof(tenon_dense) == alignof(DLTensor));
static_assert(offsetof(tenon_dense, data) == offsetof(DLTensor, data));
static_assert(offsetof(tenon_dense, device_type) ==
              offsetof(DLTensor, device) + offsetof(DLDevice, device_type));
static_assert(offsetof(tenon_dense, device_id) ==
              offsetof(DLTensor, device) + offsetof(DLDevice, device_id));
static_assert(offsetof(tenon_dense, ndim) == offsetof(DLTensor, ndim));
static_assert(offsetof(tenon_dense, type_code) ==
              offsetof(DLTensor, dtype) + offsetof(DLDataType, code));
static_assert(offsetof(tenon_dense, type_bits) ==
              offsetof(DLTensor, dtype) + offsetof(DLDataType, bits));
static_assert(offsetof(tenon_dense, type_lanes) ==
              offsetof(DLTensor, dtype) + offsetof(DLDataType, lanes));
static_assert(offsetof(tenon_dense, shape) == offsetof(DLTensor, shape));
static_assert(offsetof(tenon_dense, strides) == offsetof(DLTensor, strides));
static_assert(offsetof(tenon_dense, byte_offset) == offsetof(DLTensor, byte_offset));
static_assert(sizeof(tenon_dense::device_type) == sizeof(DLDeviceType) &&
              sizeof(tenon_dense::ndim) == sizeof(DLTensor::ndim));
static_assert(sizeof(tenon_dense::type_code) == sizeof(DLDataType::code) &&
              sizeof(tenon_dense::type_bits) == sizeof(DLDataType::bits) &&
              sizeof(tenon_dense::type_lanes) == sizeof(DLDataType::lanes));
static_assert(static_cast<int>(TENON_CPU) == kDLCPU && static_cast<int>(TENON_CUDA) == kDLCUDA);

namespace {

constexpr std::uint8_t dlpack_bool = 6;  // missing in the header

const struct {
  DType dtype;
  DLDataType type;
} types[] = {
    {boolean, {dlpack_bool, 8, 1}}, {u8, {kDLUInt, 8, 1}},      {i8, {kDLInt, 8, 1}},
    {i32, {kDLInt, 32, 1}},         {i64, {kDLInt, 64, 1}},     {f16, {kDLFloat, 16, 1}},
    {bf16, {kDLBfloat, 16, 1}},     {f32, {kDLFloat, 32, 1}},   {f64, {kDLFloat, 64, 1}},
    {i16, {kDLInt, 16, 1}},         {u16, {kDLUInt, 16, 1}},    {u32, {kDLUInt, 32, 1}},
    {u64, {kDLUInt, 64, 1}},        {c64, {kDLComplex, 64, 1}}, {c128, {kDLComplex, 128, 1}},
};

// A producer's tensor that counts calls of its deleter.
struct Foreign {
  std::vector<double> memory = std::vector<double>(100);
  std::vector<std::int64_t> shape{2, 3}, strides{3, 1};
  DLManagedTensor managed{};
  int deleted = 0;

  Foreign() {
    DLTensor& dense = managed.dl_tensor;
    dense.data = memory.data();
    dense.device = {kDLCPU, 0};
    dense.ndim = 2;
    dense.dtype = {kDLFloat, 32, 1};
    dense.shape = shape.data();
    dense.strides = strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
  }
};

}  // namespace

TEST_CASE("DLPack export: the elements are alive until the deleter is called") {
  for (const auto& kind : types) {
    const auto [dtype, type] = kind;
    CAPTURE(name_of(kind.dtype));
    Tensor tensor = Tensor::zeros(dtype, {2, 3});
    void* const data = tensor.data();
    DLManagedTensor* const managed = tensor.to_dlpack();
    tensor = {};
    const DLTensor& dense = managed->dl_tensor;
    CHECK(dense.data == data);
    CHECK(dense.device.device_type == kDLCPU);
    CHECK(dense.dtype.code == type.code);
    CHECK(dense.dtype.bits == type.bits);
    CHECK(dense.dtype.lanes == 1);
    REQUIRE(dense.ndim == 2);
    CHECK(std::vector(dense.shape, dense.shape + 2) == std::vector<std::int64_t>{2, 3});
    CHECK(std::vector(dense.strides, dense.strides + 2) == std::vector<std::int64_t>{3, 1});
    CHECK(dense.byte_offset == 0);
    static_cast<unsigned char*>(data)[5] = 1;  // AddressSanitizer would report freed memory
    managed->deleter(managed);
  }
}

TEST_CASE("DLPack import: shares the producer's memory and calls its deleter once, at the end") {
  for (const auto& kind : types) {
    const auto [dtype, type] = kind;
    CAPTURE(name_of(kind.dtype));
    Foreign foreign;
    foreign.managed.dl_tensor.dtype = type;
    foreign.managed.dl_tensor.byte_offset = 16;
    foreign.strides = {1, 2};
    Tensor tensor = Tensor::from_dlpack(&foreign.managed), copy = tensor;
    CHECK(tensor.dtype() == dtype);
    CHECK(tensor.shape() == Shape{2, 3});
    CHECK(tensor.strides() == foreign.strides);
    CHECK(tensor.data() == reinterpret_cast<std::byte*>(foreign.memory.data()) + 16);
    CHECK(static_cast<std::byte*>(tensor.abi().dense.data) == tensor.data());
    CHECK(tensor.abi().dense.byte_offset == 0);
    tensor = {};
    CHECK(foreign.deleted == 0);
    copy = {};
    CHECK(foreign.deleted == 1);
  }
}

TEST_CASE("DLPack import: accepted variants of tensors") {
  const struct {
    const char* what;
    void (*change)(Foreign&);
    Shape shape;
  } cases[] = {
      {"no strides", [](Foreign& f) { f.managed.dl_tensor.strides = nullptr; }, {2, 3}},
      {"no deleter", [](Foreign& f) { f.managed.deleter = nullptr; }, {2, 3}},
      {"pinned memory",
       [](Foreign& f) { f.managed.dl_tensor.device.device_type = kDLCUDAHost; },
       {2, 3}},
      {"no dimensions",
       [](Foreign& f) { f.managed.dl_tensor.ndim = 0, f.managed.dl_tensor.shape = nullptr; },
       Shape::scalar()},
      {"no elements",
       [](Foreign& f) {
         f.shape = {0, 3}, f.managed.dl_tensor.data = nullptr;
       },
       {0, 3}},
      {"backwards",
       [](Foreign& f) {
         f.strides = {-3, -1}, f.managed.dl_tensor.byte_offset = 40;
       },
       {2, 3}},
  };
  for (const auto& test : cases) {
    CAPTURE(test.what);
    Foreign foreign;
    test.change(foreign);
    const int deletions = foreign.managed.deleter != nullptr ? 1 : 0;
    {
      const Tensor tensor = Tensor::from_dlpack(&foreign.managed);
      CHECK(tensor.shape() == test.shape);
      CHECK(tensor.clone().size() == test.shape.size());
    }
    CHECK(foreign.deleted == deletions);
  }
}

TEST_CASE("DLPack: a round trip returns the same tensor") {
  const Tensor tensor = Tensor::from({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor back = Tensor::from_dlpack(tensor.to_dlpack());
  CHECK(back.data() == tensor.data());
  CHECK(same_bits(back, tensor));
}

TEST_CASE("DLPack import: refused tensors still belong to the producer") {
  const struct {
    void (*change)(DLTensor&);
    const char* reason;
  } cases[] = {
      {[](DLTensor& t) { t.device.device_type = kDLOpenCL; },
       "it is on a device of DLPack type 4, but only the CPU and CUDA are supported"},
      {[](DLTensor& t) {
         t.dtype = {kDLInt, 3, 1};
       },
       "Tenon has no dtype with type code 0, 3 bits and 1 lanes"},
      {[](DLTensor& t) {
         t.dtype = {kDLComplex, 32, 1};
       },
       "Tenon has no dtype with type code 5, 32 bits and 1 lanes"},
      {[](DLTensor& t) {
         t.dtype = {kDLFloat, 32, 4};
       },
       "Tenon has no dtype with type code 2, 32 bits and 4 lanes"},
      {[](DLTensor& t) { t.ndim = 9; }, "it has 9 dimensions, but at most 8 are supported"},
      {[](DLTensor& t) { t.ndim = -1; }, "it has -1 dimensions, but at most 8 are supported"},
      {[](DLTensor& t) { t.shape = nullptr; }, "it has no shape"},
      {[](DLTensor& t) { t.shape[1] = -1; }, "dimension 1 is -1"},
  };
  for (const auto& test : cases) {
    Foreign foreign;
    test.change(foreign.managed.dl_tensor);
    const FailureText failure = failure_of([&] { Tensor::from_dlpack(&foreign.managed); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == std::string("cannot take this DLPack tensor: ") + test.reason);
    CHECK(foreign.deleted == 0);
  }
  Foreign foreign;
  foreign.managed.dl_tensor.data = nullptr;
  CHECK(failure_of([&] { Tensor::from_dlpack(&foreign.managed); }).kind == 2);
  CHECK(foreign.deleted == 0);
  CHECK(failure_of([] { Tensor::from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }).message ==
        "cannot take this DLPack tensor: it is a null pointer");
}
