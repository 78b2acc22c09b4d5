// Calls CUDA kernels of bundled plugins directly, so that benchmarks show the host's overhead.
#pragma once
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <tenon/abi.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "../built.hpp"
#include "device/cuda_state.hpp"
#include "device/devices.hpp"

/// The main() of CUDA benchmarks: without a GPU, prints the reason and returns 77, as the tests do.
inline int run_cuda_benchmarks(int count, char** words) {
  if (tenon::cuda_state().status != tenon::CudaStatus::usable) {
    std::printf("skipped: %s\n", tenon::cuda_state().reason.c_str());
    return 77;
  }
  tenon::find_device("cuda").make_current();  // starts CUDA before the first plugin
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

class CudaKernel {
 public:
  /// The kernel of an elementwise operator with these parameters, and defaults for the others.
  /// Throws std::runtime_error if it is missing.
  explicit CudaKernel(const std::string& op,
                      const std::vector<std::pair<const char*, double>>& parameters = {}) {
    void* const library =
        dlopen(built("plugins/tenon_elementwise.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto get = reinterpret_cast<tenon_get_function>(
        dlsym(library, (TENON_KERNEL_SYMBOL_PREFIX "cuda__" + op).c_str()));
    if (get == nullptr)
      throw std::runtime_error(
          op + " has no CUDA kernel in tenon_elementwise.so: build with -DTENON_CUDA=ON");
    table_ = get(nullptr);
    std::vector<tenon_attribute> attributes;
    for (const auto& [name, value] : parameters) {
      auto& to = attributes.emplace_back();
      to.name = name;
      to.kind = TENON_ATTR_FLOAT;
      to.f = value;
    }
    if (table_->create(attributes.data(), attributes.size(), &object_, &error_) != 0)
      throw std::runtime_error(text_);
  }
  ~CudaKernel() { table_->destroy(object_); }
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  using Shape = std::vector<std::int64_t>;
  struct Floats {
    std::byte* data;  ///< memory of the current device
    Shape shape;
  };

  /// All arrays have n floats.
  void forward(std::initializer_list<std::byte*> inputs, std::byte* output, std::int64_t n,
               void* stream) {
    std::vector<Floats> floats;
    for (std::byte* data : inputs) floats.push_back({data, {n}});
    forward(floats, {output, {n}}, stream);
  }
  void forward(const std::vector<Floats>& inputs, const Floats& output, void* stream) {
    std::vector<tenon_tensor> tensors;
    for (const auto& input : inputs) tensors.push_back(tensor(input));
    tenon_tensor out = tensor(output), *outputs[] = {&out};
    std::vector<const tenon_tensor*> pointers;
    for (const auto& each : tensors) pointers.push_back(&each);
    const std::uint8_t write = TENON_WRITE_TO;
    tenon_call call{};
    call.size = sizeof call;
    call.error = &error_;
    call.input_count = static_cast<std::uint32_t>(pointers.size());
    call.inputs = pointers.data();
    call.output_count = 1;
    call.outputs = outputs;
    call.writes = &write;
    call.stream = stream;
    call.dispatch = TENON_FORWARD;
    if (table_->forward(object_, &call) != 0) throw std::runtime_error(text_);
  }

 private:
  static tenon_tensor tensor(const Floats& floats) {
    tenon_tensor made{};
    made.size = sizeof made;
    made.dtype = TENON_F32;
    made.dense.data = floats.data;
    made.dense.device_type = TENON_CUDA;
    made.dense.ndim = static_cast<std::int32_t>(floats.shape.size());
    made.dense.shape = const_cast<std::int64_t*>(floats.shape.data());
    return made;
  }

  const tenon_operator* table_ = nullptr;
  void* object_ = nullptr;
  char text_[256] = {};
  tenon_error error_{sizeof(tenon_error), 0, 0, text_, sizeof text_};
};
