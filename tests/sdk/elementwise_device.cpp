// The work of CUDA threads, run here sequentially and compared with the CPU's kernels: index
// arithmetic, 16-byte vectors, dtypes, write modes, and the sums of broadcast gradients.
#include <doctest/doctest.h>

#include <optional>
#include <tenon/elementwise/device/device_flat.hpp>
#include <tenon/elementwise/device/device_map.hpp>
#include <tenon/elementwise/device/device_sum.hpp>

#include "call_by_hand.hpp"
#include "elementwise_operators.hpp"

using namespace by_hand;
using tenon::DType;
using tenon::Write;
namespace device = tenon::elementwise;

namespace {

// The elements may be at any address, as a test's tensors are; vectors need 16-byte alignment.
struct Aligned {
  Tensor source;
  std::vector<unsigned char> memory;
  tenon_tensor raw;

  /// `shift`: offset of the elements from such an address.
  explicit Aligned(Tensor given, std::size_t shift = 0)
      : source(std::move(given)), raw(*source.raw()) {
    const auto bytes =
        static_cast<std::size_t>(count(source.dims())) * tenon::size_of(source.dtype());
    shift *= tenon::size_of(source.dtype());
    memory.resize(bytes + 32 + shift);
    auto* at =
        memory.data() + (16 - reinterpret_cast<std::uintptr_t>(memory.data()) % 16) % 16 + shift;
    if (bytes > 0)
      std::memcpy(at, static_cast<unsigned char*>(raw.dense.data) + raw.dense.byte_offset, bytes);
    raw.dense.data = at;
    raw.dense.byte_offset = 0;
  }
  Values values() {
    Tensor read(source.dtype(), source.dims());
    auto* to = read.raw();
    std::memcpy(static_cast<unsigned char*>(to->dense.data) + to->dense.byte_offset, raw.dense.data,
                static_cast<std::size_t>(count(source.dims())) * tenon::size_of(source.dtype()));
    return read.values();
  }
};

device::Job job_of(tenon_tensor* out, Write write,
                   const std::vector<const tenon_tensor*>& sources) {
  device::Job job{};
  job.output = out;
  job.write = write;
  for (const auto* source : sources) job.read(source);
  return job;
}

template <class Function, class Stored, class Class>
std::optional<device::DeviceFlat> flat_of(const device::DeviceMap& map) {
  return device::device_flat(map, tenon::dtype_of<Stored>,
                             tenon::dtype_of<device::Written<Function, Stored, Class>>,
                             Function::flags);
}

template <class Class>
void run_forward(const Class& f, DType stored, const device::Job& job, bool wide = false) {
  tenon::visit<tenon::detail::description_of<Class>.types>(stored, [&]<class Stored>() {
    using Function = device::ForwardAt<Class, device::Computed<Stored>>;
    auto map = device::device_map(job);
    if (wide) map.space.count_in_int64();
    if constexpr (device::packable<Function, Class>) {
      if (const auto flat = flat_of<Function, Stored, Class>(map)) {
        const device::FlatBody<Function, Stored, Class> body{f, *flat};
        for (auto i = body.pieces(); i-- > 0;) body(i);
        return;
      }
    }
    const device::MapBody<Function, Stored, Class> body{f, map};
    for (auto i = map.space.count(); i-- > 0;) body(i);
  });
}

template <class Class, std::size_t input>
void run_derivative(const Class& f, DType stored, const device::Job& job, const tenon_dense& wide,
                    std::int64_t step, bool in_int64) {
  tenon::visit<tenon::floating>(stored, [&]<class Stored>() {
    using Function = device::DerivativeAt<Class, device::Computed<Stored>, input>;
    auto sum = device::device_sum(job, wide);
    if (in_int64) sum.results.space.count_in_int64(), sum.terms.count_in_int64();
    for (std::int64_t i = 0; i < sum.results.space.count(); ++i) {
      double total = 0;
      for (std::int64_t begin = 0; begin < step; ++begin)
        total += device::sum_terms<Function, Stored>(f, sum, i, begin, step);
      device::store_sum<Function, Stored>(sum, i, total);
    }
  });
}

constexpr DType floats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr Layout layouts[] = {Layout::contiguous, Layout::transposed, Layout::gaps,
                              Layout::backwards, Layout::repeated};

struct Shapes {
  Dims left, right, out;
};
const Shapes shapes[] = {{{37}, {37}, {37}},
                         {{64, 3}, {64, 3}, {64, 3}},
                         {{5, 1, 4}, {3, 1}, {5, 3, 4}},
                         {{}, {2, 3}, {2, 3}},
                         {{2, 3, 4}, {4}, {2, 3, 4}},
                         {{0, 3}, {1, 3}, {0, 3}},
                         {{1, 1}, {1}, {1, 1}},
                         {{2, 1, 3, 1}, {5, 1, 7}, {2, 5, 3, 7}}};

}  // namespace

TEST_CASE_TEMPLATE(
    "device threads compute the results of the CPU's kernels for all shapes, strides and dtypes",
    Class, Product, Combine, Greater) {
  Instance instance(tenon::table_of<Class>());
  for (const auto dtype : floats) {
    for (const auto& [left_dims, right_dims, out_dims] : shapes) {
      for (const auto layout : layouts) {
        for (const auto write : {Write::to, Write::add}) {
          const bool boolean = std::is_same_v<Class, Greater>;
          if (boolean && write == Write::add) continue;
          const auto out_dtype = boolean ? DType::boolean : dtype;
          Tensor left(dtype, left_dims, some_values(count(left_dims), 1), layout),
              right(dtype, right_dims, some_values(count(right_dims), 2), layout);
          Tensor expected(out_dtype, out_dims, some_values(count(out_dims), 3)), found = expected;
          REQUIRE(instance.forward({&left, &right}, expected, write) == "");
          for (const bool wide : {false, true}) {
            Tensor result = found;
            run_forward(Class{}, dtype, job_of(result.raw(), write, {left.raw(), right.raw()}),
                        wide);
            CAPTURE(static_cast<int>(dtype));
            CAPTURE(static_cast<int>(layout));
            CAPTURE(wide);
            CHECK(result.values() == expected.values());
            CHECK(result.fenced());
          }
        }
      }
    }
  }
}

TEST_CASE("device threads process 16 bytes at once if everything is contiguous") {
  Instance instance(tenon::table_of<Product>());
  for (const auto dtype : floats) {
    for (const std::int64_t n : {0, 1, 7, 8, 64, 1000, 1003}) {
      for (const bool repeated : {false, true}) {
        for (const auto write : {Write::to, Write::add}) {
          Aligned left(Tensor(dtype, {n}, some_values(n, 1))),
              right(Tensor(dtype, {repeated ? 1 : n}, some_values(repeated ? 1 : n, 2)));
          Aligned found(Tensor(dtype, {n}, some_values(n, 3)));
          Tensor expected = found.source;
          REQUIRE(instance.forward({&left.source, &right.source}, expected, write) == "");
          const auto job = job_of(&found.raw, write, {&left.raw, &right.raw});
          const auto width = 16 / static_cast<std::int64_t>(tenon::size_of(dtype));
          CHECK(device::device_flat(device::device_map(job), dtype, dtype).value().packs ==
                n / width);
          run_forward(Product{}, dtype, job);
          CHECK(found.values() == expected.values());
        }
      }
    }
  }
  Aligned whole(Tensor(DType::f32, {64}, some_values(64, 1)));
  auto moved = whole.raw;
  moved.dense.byte_offset = 4;
  moved.dense.shape = whole.raw.dense.shape;
  const auto map = device::device_map(job_of(&moved, Write::to, {&whole.raw, &whole.raw}));
  CHECK(device::device_flat(map, DType::f32, DType::f32).value().packs == 0);
}

namespace {

struct Pick : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("yes where condition is true, else no");
    op.types(tenon::any_type);
    op.input("condition", "true or false").types({tenon::boolean});
    op.input("yes", "any shape");
    op.input("no", "any shape");
    op.output("result", "all three broadcast");
  }
  template <class T>
  TENON_FN T operator()(T condition, T yes, T no) const {
    return condition != T(0) ? yes : no;
  }
};

Values zeros_and_ones(std::int64_t n) {
  Values values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(i % 3 == 0 || i % 7 == 2);
  return values;
}

/// Compares with the CPU for aligned and unaligned addresses; expects `packs` vectors for aligned
/// ones, else none.
template <class Class, class Stored>
void check_packs(const std::vector<Tensor>& sources, DType written, std::int64_t packs) {
  Instance instance(tenon::table_of<Class>());
  for (std::size_t moved = 0; moved <= sources.size() + 1; ++moved) {
    CAPTURE(moved);  // the unaligned tensor; 0: none; the last one is the output
    std::vector<Aligned> given;
    for (std::size_t k = 0; k < sources.size(); ++k)
      given.emplace_back(sources[k], moved == k + 1 ? 1 : 0);
    Aligned found(Tensor(written, sources.back().dims()), moved == sources.size() + 1 ? 1 : 0);
    Tensor expected = found.source;
    std::vector<Tensor*> inputs;
    std::vector<const tenon_tensor*> raw;
    for (auto& tensor : given) inputs.push_back(&tensor.source), raw.push_back(&tensor.raw);
    REQUIRE(instance.forward(inputs, expected, Write::to) == "");
    const auto job = job_of(&found.raw, Write::to, raw);
    using Function = device::ForwardAt<Class, device::Computed<Stored>>;
    const bool repeated =
        moved > 0 && moved <= sources.size() && count(sources[moved - 1].dims()) == 1;
    CHECK(flat_of<Function, Stored, Class>(device::device_map(job)).value().packs ==
          (moved == 0 || repeated ? packs : 0));
    run_forward(Class{}, tenon::dtype_of<Stored>, job);
    CHECK(found.values() == expected.values());
  }
}

}  // namespace

TEST_CASE_TEMPLATE("device threads process 16 bytes of the wider dtype at once", Stored,
                   std::uint8_t, std::int32_t, std::int64_t, tenon::half, float, double) {
  const auto dtype = tenon::dtype_of<Stored>;
  const auto width = 16 / static_cast<std::int64_t>(sizeof(Stored));
  for (const std::int64_t n : {2, 7, 16, 31, 64, 1003}) {
    CAPTURE(n);
    const Tensor left(dtype, {n}, some_values(n, 1)), right(dtype, {n}, some_values(n, 2)),
        one(dtype, {1}, some_values(1, 3));
    const Tensor flags(DType::boolean, {n}, zeros_and_ones(n)),
        flag(DType::boolean, {1}, zeros_and_ones(1));
    check_packs<Greater, Stored>({left, right}, DType::boolean, n / width);
    check_packs<Greater, Stored>({one, right}, DType::boolean, n / width);
    check_packs<Pick, Stored>({flags, left, right}, dtype, n / width);
    check_packs<Pick, Stored>({flag, one, right}, dtype, n / width);
  }
}

TEST_CASE_TEMPLATE("device threads sum the gradients of broadcast inputs", Class, Product,
                   Combine) {
  Instance instance(tenon::table_of<Class>());
  for (const auto dtype : floats) {
    for (const auto& [left_dims, right_dims, out_dims] : shapes) {
      for (const auto write : {Write::to, Write::add}) {
        for (const std::int64_t step : {1, 5, 256}) {
          Tensor left(dtype, left_dims, some_values(count(left_dims), 1)),
              right(dtype, right_dims, some_values(count(right_dims), 2));
          Tensor dy(dtype, out_dims, some_values(count(out_dims), 3), Layout::transposed);
          Tensor expected[] = {Tensor(dtype, left_dims, some_values(count(left_dims), 4)),
                               Tensor(dtype, right_dims, some_values(count(right_dims), 5))};
          Tensor found[] = {expected[0], expected[1]};
          REQUIRE(instance.backward({&left, &right}, nullptr, &dy, {&expected[0], &expected[1]},
                                    {write, write}) == "");
          const auto job = [&](int i) {
            return job_of(found[i].raw(), write, {left.raw(), right.raw(), dy.raw()});
          };
          run_derivative<Class, 0>(Class{}, dtype, job(0), dy.raw()->dense, step, false);
          run_derivative<Class, 1>(Class{}, dtype, job(1), dy.raw()->dense, step, true);
          for (const int i : {0, 1}) {
            const auto all = expected[i].values(), ours = found[i].values();
            for (std::size_t k = 0; k < all.size(); ++k)
              CHECK(ours[k] == doctest::Approx(all[k]).epsilon(dtype == DType::f64 ? 1e-12 : 1e-2));
          }
        }
      }
    }
  }
}
