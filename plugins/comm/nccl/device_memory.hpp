// Elementwise operations in the memory of a GPU.
#pragma once
#include <tenon/gpu/launch.hpp>

#include "memory.hpp"

/// Memory of the call's device; operations run in the order of its stream.
class DeviceMemory : public Memory {
 public:
  explicit DeviceMemory(const tenon::Call& call) : call_(call) {}
  void copy(void* to, const void* from, std::size_t bytes) const override {
    tenon::gpu::copy(call_, to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) const override { tenon::gpu::clear(call_, to, bytes); }
  void join(Reduction reduction, tenon::DType dtype, void* to, const void* from, std::int64_t count,
            bool is_left) const override {
    tenon::visit<tenon::numeric>(dtype, [&]<class T>() {
      joining::visit<T>(reduction, [&]<class Function>(Function function) {
        tenon::gpu::for_each(
            call_, count,
            joining::Joined<T, Function>{static_cast<T*>(to), static_cast<const T*>(from), is_left,
                                         function});
      });
    });
  }
  void divide(tenon::DType dtype, void* elements, std::int64_t count, int by) const override {
    tenon::visit<tenon::numeric>(dtype, [&]<class T>() {
      using Function = joining::Quotient<T>;
      tenon::gpu::for_each(
          call_, count,
          joining::Joined<T, Function>{static_cast<T*>(elements), static_cast<const T*>(elements),
                                       true, Function{by}});
    });
  }

 private:
  const tenon::Call& call_;
};
