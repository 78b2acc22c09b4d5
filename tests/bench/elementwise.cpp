// Elementwise kernels called through their tables, on one thread. `triad` and `copy` are the memory
// bandwidth of the machine: add reads two arrays and writes one, like triad; quadratic reads one,
// like copy.
#include <benchmark/benchmark.h>

#include <cstring>
#include <new>
#include <tenon/elementwise.hpp>
#include <vector>

#include "plus.hpp"

namespace {

struct Quadratic : tenon::Elementwise {
  float a = 0.5f, b = 2, c = 1;
  static constexpr void describe(auto& op) {
    op.doc("a x^2 + b x + c");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return a * x * x + b * x + c;
  }
};

#define FUNCTION(Class, function)              \
  struct Class : tenon::Elementwise {          \
    static constexpr void describe(auto& op) { \
      op.doc(#function);                       \
      op.input("x", "any shape");              \
      op.output("y", "same shape");            \
    }                                          \
    template <class T>                         \
    TENON_FN T operator()(T x) const {         \
      return function(x);                      \
    }                                          \
  };
FUNCTION(Exp, exp)
FUNCTION(Log, log)
FUNCTION(Tanh, tanh)
FUNCTION(Erf, erf)
FUNCTION(Sin, sin)

using Dims = std::vector<std::int64_t>;

/// Memory with the host's alignment.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class Other>
  Aligned(const Aligned<Other>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{64}); }
  friend bool operator==(Aligned, Aligned) { return true; }
};
using Floats = std::vector<float, Aligned<float>>;

/// A tensor of ones.
struct Tensor {
  Dims dims;
  std::vector<unsigned char, Aligned<unsigned char>> bytes;
  tenon_tensor raw{};

  Tensor(tenon::DType dtype, Dims shape) : dims(std::move(shape)) {
    std::size_t count = 1;
    for (const auto dim : dims) count *= static_cast<std::size_t>(dim);
    tenon::visit(dtype, [&]<class T>() {
      bytes.resize(count * sizeof(T));
      const T one = static_cast<T>(1);
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(bytes.data() + i * sizeof(T), &one, sizeof one);
    });
    raw.size = sizeof raw;
    raw.dtype = static_cast<std::uint8_t>(dtype);
    raw.dense.data = bytes.data();
    raw.dense.ndim = static_cast<std::int32_t>(dims.size());
    raw.dense.shape = dims.data();
  }
};

/// Calls forward repeatedly, or, if a gradient is passed, backward for the first input; output is
/// then the output's gradient.
void measure(benchmark::State& state, const tenon_operator* table, std::vector<Tensor*> tensors,
             Tensor& output, Tensor* gradient = nullptr) {
  tenon_host host{};
  host.size = sizeof host;
  host.parallel_for = [](const tenon_call*, std::int64_t n, std::int64_t grain, tenon_body body,
                         void* context) {
    for (std::int64_t begin = 0; begin < n; begin += grain)
      body(context, begin, begin + grain < n ? begin + grain : n);
  };
  std::vector<const tenon_tensor*> inputs;
  std::size_t bytes = output.bytes.size() + (gradient ? gradient->bytes.size() : 0);
  for (const Tensor* tensor : tensors)
    inputs.push_back(&tensor->raw), bytes += tensor->bytes.size();
  tenon_tensor *out = &output.raw, *input_grads[2] = {gradient ? &gradient->raw : nullptr};
  const tenon_tensor* output_grad = &output.raw;
  const std::uint8_t writes[2] = {TENON_WRITE_TO, TENON_WRITE_NONE};
  tenon_call call{};
  call.size = sizeof call;
  call.host = &host;
  call.input_count = static_cast<std::uint32_t>(inputs.size());
  call.output_count = 1;
  call.inputs = inputs.data();
  call.outputs = &out;
  call.output_grads = &output_grad;
  call.input_grads = input_grads;
  call.writes = writes;
  call.threads = 1;
  call.dispatch = gradient ? TENON_BACKWARD : TENON_FORWARD;
  void* object = nullptr;
  table->create(nullptr, 0, &object, nullptr);
  const auto function = gradient ? table->backward : table->forward;
  for (auto _ : state) {
    function(object, &call);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  table->destroy(object);
}

template <class Class>
void unary(benchmark::State& state, tenon::DType dtype) {
  Tensor x(dtype, {state.range(0)}), y(dtype, {state.range(0)});
  measure(state, tenon::table_of<Class>(), {&x}, y);
}
constexpr auto quadratic = unary<Quadratic>, exp = unary<Exp>, log = unary<Log>, tanh = unary<Tanh>,
               erf = unary<Erf>, sin = unary<Sin>;

void add(benchmark::State& state, tenon::DType dtype, Dims left, Dims right) {
  Tensor l(dtype, left), r(dtype, right), sum(dtype, left);
  measure(state, tenon::table_of<Plus>(), {&l, &r}, sum);
}

/// The gradient of Plus's left input, which was broadcast from `narrow` to `wide`.
void gradient(benchmark::State& state, Dims narrow, Dims wide) {
  Tensor l(tenon::f32, narrow), r(tenon::f32, wide), dy(tenon::f32, wide), dl(tenon::f32, narrow);
  measure(state, tenon::table_of<Plus>(), {&l, &r}, dy, &dl);
}

void triad(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  Floats a(n, 1), b(n, 1), c(n, 1);
  for (auto _ : state) {
    float* __restrict to = c.data();
    const float *left = a.data(), *right = b.data();
    for (std::size_t i = 0; i + 64 <= n; i += 64)
      for (std::size_t k = 0; k < 64; ++k) to[i + k] = left[i + k] + right[i + k];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(n * 12));
}
void copy(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  Floats a(n, 1), b(n, 1);
  for (auto _ : state) {
    std::memcpy(b.data(), a.data(), n * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(n * 8));
}

constexpr std::int64_t small = 1 << 12, large = 1 << 24;

BENCHMARK(triad)->Arg(small)->Arg(large);
BENCHMARK_CAPTURE(add, f32_small, tenon::f32, Dims{small}, Dims{small});
BENCHMARK_CAPTURE(add, f32_large, tenon::f32, Dims{large}, Dims{large});
BENCHMARK_CAPTURE(add, f16_large, tenon::f16, Dims{large}, Dims{large});
BENCHMARK_CAPTURE(add, bf16_large, tenon::bf16, Dims{large}, Dims{large});
BENCHMARK_CAPTURE(add, rows, tenon::f32, Dims{large / 1024, 1024}, Dims{1, 1024});
BENCHMARK_CAPTURE(add, columns, tenon::f32, Dims{large / 1024, 1024}, Dims{large / 1024, 1});
BENCHMARK_CAPTURE(add, short_rows, tenon::f32, Dims{large / 8, 8}, Dims{1, 8});
BENCHMARK(copy)->Arg(small)->Arg(large);
BENCHMARK_CAPTURE(quadratic, f32, tenon::f32)->Arg(1)->Arg(small)->Arg(large);
BENCHMARK_CAPTURE(quadratic, f16, tenon::f16)->Arg(1)->Arg(large);
BENCHMARK_CAPTURE(exp, f32, tenon::f32)->Arg(small);
BENCHMARK_CAPTURE(log, f32, tenon::f32)->Arg(small);
BENCHMARK_CAPTURE(tanh, f32, tenon::f32)->Arg(small);
BENCHMARK_CAPTURE(erf, f32, tenon::f32)->Arg(small);
BENCHMARK_CAPTURE(sin, f32, tenon::f32)->Arg(small);
BENCHMARK_CAPTURE(gradient, same_shape, Dims{large}, Dims{large});
BENCHMARK_CAPTURE(gradient, rows, Dims{1, 1024}, Dims{large / 1024, 1024});
BENCHMARK_CAPTURE(gradient, columns, Dims{large / 1024, 1}, Dims{large / 1024, 1024});
BENCHMARK_CAPTURE(gradient, channels, Dims{1, 64, 1}, Dims{32, 64, large / 2048});
BENCHMARK_CAPTURE(gradient, short_rows, Dims{1, 8}, Dims{large / 8, 8});

}  // namespace

BENCHMARK_MAIN();
