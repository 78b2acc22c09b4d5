// softmax and log_softmax on the CPU, vectorized: along a row if the axis is the last one,
// otherwise over adjacent columns.
#include "softmax.hpp"

#include <algorithm>
#include <vector>

#include "row_exponentials.hpp"
#include "shared/store_each.hpp"
#include "shared/sum.hpp"

namespace {

/// Exponentials are stored in the output if that has their type and is not accumulated into,
/// otherwise in a separate row.
template <class T>
Wide<T>* exponentials_buffer(tenon::Write write, T* y, std::vector<Wide<T>>& own,
                             std::int64_t length) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    if (write != tenon::Write::add) return y;
  }
  own.resize(static_cast<std::size_t>(length));
  return nullptr;
}

template <class T>
void put_row(SoftmaxRule, tenon::Write write, const T* x, T* y, Wide<T>* e, std::int64_t length) {
  const RowExponentials<T> row(x, length);
  const auto norm = 1 / row.template sum<true>(row.maximum(), e);
  store_each(write, y, length, [=](std::int64_t i) { return e[i] * norm; });
}

template <class T>
void put_row(LogSoftmaxRule, tenon::Write write, const T* x, T* y, Wide<T>*, std::int64_t length) {
  const RowExponentials<T> row(x, length);
  const auto maximum = row.maximum(), norm = std::log(row.template sum<false>(maximum, nullptr));
  store_each(write, y, length, [=](std::int64_t i) { return Wide<T>(x[i]) - maximum - norm; });
}

template <class Rule, class T>
void put_rows(const tenon::Call& call, const Axis& along, const T* x, T* y) {
  const auto write = call.write(0);
  const auto length = along.length;
  call.parallel_for(along.outer, along.grain(), [=](std::int64_t begin, std::int64_t end) {
    std::vector<Wide<T>> own;
    auto* const in_output =
        std::is_same_v<Rule, SoftmaxRule> ? exponentials_buffer(write, y, own, length) : nullptr;
    tenon::wide([=, own = own.data()] {
      for (auto start = begin * length; start < end * length; start += length)
        put_row(Rule{}, write, x + start, y + start, in_output ? in_output + start : own, length);
    });
  });
}

/// Columns of a block, whose elements are `inner` apart.
constexpr std::int64_t columns_at_once = 64;

template <class Rule, class T>
void put_columns(tenon::Write write, const T* x, T* y, std::int64_t length, std::int64_t inner,
                 std::int64_t width) {
  using W = Wide<T>;
  W maximum[columns_at_once], norm[columns_at_once];
  for (std::int64_t k = 0; k < width; ++k) maximum[k] = below_all<T>, norm[k] = 0;
  for (const T* row = x; row < x + length * inner; row += inner)
    for (std::int64_t k = 0; k < width; ++k)
      maximum[k] = maximum[k] < W(row[k]) ? W(row[k]) : maximum[k];
  for (const T* row = x; row < x + length * inner; row += inner)
    for (std::int64_t k = 0; k < width; ++k)
      norm[k] += tenon::elementwise::exp(W(row[k]) - maximum[k]);
  for (std::int64_t k = 0; k < width; ++k) norm[k] = Rule::norm(norm[k]);
  for (std::int64_t i = 0; i < length * inner; i += inner)
    store_each(write, y + i, width,
               [=, x = x + i, maximum = &maximum[0], norm = &norm[0]](std::int64_t k) {
                 return Rule::value(W(x[k]) - maximum[k], norm[k]);
               });
}

template <class Rule, class T>
void put_columns_gradient(tenon::Write write, const T* y, const T* dy, T* dx, std::int64_t length,
                          std::int64_t inner, std::int64_t width) {
  using W = Wide<T>;
  W sum[columns_at_once];
  for (std::int64_t k = 0; k < width; ++k) sum[k] = 0;
  for (std::int64_t i = 0; i < length * inner; i += inner)
    for (std::int64_t k = 0; k < width; ++k) sum[k] += Rule::term(W(y[i + k]), W(dy[i + k]));
  for (std::int64_t i = 0; i < length * inner; i += inner)
    store_each(write, dx + i, width, [=, y = y + i, dy = dy + i, sum = &sum[0]](std::int64_t k) {
      return Rule::gradient(W(y[k]), W(dy[k]), sum[k]);
    });
}

/// Calls body(start, width) for blocks of columns, vectorized; `start` is the offset of the block's
/// first element.
template <class Body>
void for_each_columns(const tenon::Call& call, const Axis& along, const Body& body) {
  const auto blocks = (along.inner + columns_at_once - 1) / columns_at_once;
  const auto elements = along.length * std::min(along.inner, columns_at_once);
  call.parallel_for(
      along.outer * blocks, 1 + 4096 / (elements + 1), [&](std::int64_t begin, std::int64_t end) {
        tenon::wide([=, inner = along.inner, size = along.length * along.inner] {
          for (auto block = begin; block < end; ++block) {
            const auto column = block % blocks * columns_at_once;
            body(block / blocks * size + column, std::min(columns_at_once, inner - column));
          }
        });
      });
}

}  // namespace

template <class Rule>
void Softmax<Rule>::forward(const tenon::Call& call) const {
  const auto along = Axis::of(call.input_type(0).shape, axis);
  const auto write = call.write(0);
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const T* const x = call.input<T>(0).data();
    T* const y = call.output<T>(0).data();
    if (along.inner == 1) return put_rows<Rule>(call, along, x, y);
    for_each_columns(
        call, along,
        [=, length = along.length, inner = along.inner](std::int64_t start, std::int64_t width) {
          put_columns<Rule>(write, x + start, y + start, length, inner, width);
        });
  });
}

template <class Rule>
void Softmax<Rule>::backward(const tenon::Call& call) const {
  if (call.write(0) == tenon::Write::none) return;
  const auto along = Axis::of(call.output_type(0).shape, axis);
  const auto write = call.write(0);
  tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
    const T *const y = call.output_value<T>(0).data(), *const dy = call.output_grad<T>(0).data();
    T* const dx = call.input_grad<T>(0).data();
    if (along.inner != 1)
      return for_each_columns(
          call, along,
          [=, length = along.length, inner = along.inner](std::int64_t start, std::int64_t width) {
            put_columns_gradient<Rule>(write, y + start, dy + start, dx + start, length, inner,
                                       width);
          });
    call.parallel_for(along.outer, along.grain(),
                      [=, length = along.length](std::int64_t begin, std::int64_t end) {
                        tenon::wide([=] {
                          for (auto start = begin * length; start < end * length; start += length) {
                            const auto term = [y = y + start, dy = dy + start](std::int64_t i) {
                              return Rule::term(Wide<T>(y[i]), Wide<T>(dy[i]));
                            };
                            const auto total = static_cast<Wide<T>>(sum(length, term));
                            store_each(write, dx + start, length,
                                       [=, y = y + start, dy = dy + start](std::int64_t i) {
                                         return Rule::gradient(Wide<T>(y[i]), Wide<T>(dy[i]),
                                                               total);
                                       });
                          }
                        });
                      });
  });
}

TENON_OPERATOR(softmax, Softmax<SoftmaxRule>)
TENON_OPERATOR(log_softmax, Softmax<LogSoftmaxRule>)
