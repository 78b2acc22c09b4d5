// A wrapper of oneDNN for plugins: runs on the calling thread only, and turns failures into
// tenon::Error.
#pragma once
#include <cstddef>
#include <dnnl.hpp>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <tenon/operator.hpp>

extern "C" {  // of GNU OpenMP, which Debian's oneDNN uses; clang has no omp.h for it
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;

/// While it exists, OpenMP uses this thread only: the host's threads already run in parallel, and
/// oneDNN splits its sums by the number of threads.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Runs body() on one thread. Primitives must only be created and run inside.
template <class Body>
decltype(auto) use(Body&& body) {
  const OneThread one;
  try {
    return body();
  } catch (const dnnl::error& error) {
    throw tenon::Error("oneDNN failed: ", error.what(), " (status ", static_cast<int>(error.status),
                       ")");
  }
}

/// Never destroyed, since primitives refer to it and kernels may exist until the process ends. The
/// library caches 1,024 primitives of about 100 KiB by default; 256 take 25 MiB, in addition to
/// those that nodes hold. A number set by the user has priority.
inline const dnnl::engine& cpu() {
  static const auto& engine = *[] {
    if (dnnl::get_primitive_cache_capacity() == 1024) dnnl::set_primitive_cache_capacity(256);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

/// Whether oneDNN uses AVX-512 on this machine.
inline bool uses_avx512() {
  const auto is = [isa = dnnl::get_effective_cpu_isa()](dnnl::cpu_isa other) {
    return isa == other;
  };
  return !is(dnnl::cpu_isa::sse41) && !is(dnnl::cpu_isa::avx) && !is(dnnl::cpu_isa::avx2) &&
         !is(dnnl::cpu_isa::avx2_vnni);
}

/// Whether oneDNN multiplies bfloat16 with native instructions of this machine, AVX512-BF16 or AMX.
inline bool multiplies_bf16() {
  const auto bits = [](dnnl::cpu_isa isa) {
    return static_cast<unsigned>(isa);
  };  // an instruction set has the bits of those it includes
  constexpr auto needed = dnnl::cpu_isa::avx512_core_bf16;
  return (bits(dnnl::get_effective_cpu_isa()) & bits(needed)) == bits(needed);
}

/// f32, row-major and contiguous: the layout of the host's tensors.
inline Desc plain(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * dims[axis];
  return {dims, Type::f32, strides};
}

/// The layout that the primitive prefers.
inline Desc any(const Dims& dims, Type type = Type::f32) {
  return {dims, type, dnnl::memory::format_tag::any};
}

/// Throws Error if a sample has too many elements for oneDNN: some of its kernels compute indices
/// in 32 bits without checking for overflow.
inline void require_int32_sizes(const tenon::Shape& shape, std::string_view name) {
  std::int64_t sample = 1;
  for (int axis = 1; axis < shape.rank(); ++axis)
    if (__builtin_mul_overflow(sample, shape[axis], &sample) ||
        sample > std::numeric_limits<std::int32_t>::max())
      throw tenon::Error("one sample of ", name, " ", shape,
                         " exceeds oneDNN's limit of 2147483647 elements");
}

inline dnnl::primitive_attr with_user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(
      dnnl::scratchpad_mode::user);  // the library's own scratchpad is not thread-safe
  return attributes;
}

/// A memory object over the host's memory; oneDNN has no const variant.
inline dnnl::memory memory_at(const Desc& desc, const void* data) {
  return {desc, cpu(), const_cast<void*>(data)};
}

/// `bytes` rounded up, so that the memory after it is aligned like `scratch`.
inline std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Uninitialized memory with oneDNN's preferred alignment.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) { reserve(bytes); }
  /// Grows to at least `bytes`. The content is lost; old memory is freed before new memory is
  /// allocated.
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    memory_.reset();
    bytes_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
    bytes_ = bytes;
  }
  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

inline thread_local Buffer
    scratch_buffer;  // not in scratch(): clang's analyzer frees it where the function returns

/// At least `bytes` of this thread's scratch memory, valid until the next call on this thread.
inline std::byte* scratch(std::size_t bytes) {
  scratch_buffer.reserve(bytes);
  return scratch_buffer.data();
}

}  // namespace onednn
