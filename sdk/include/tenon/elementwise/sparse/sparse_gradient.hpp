// Gradients if the output's gradient, or a tensor that the derivative reads, is sparse. Each equals
// that of the dense kernel, element by element: sparse if a sparse tensor makes it 0 at all other
// positions, otherwise dense.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../version.hpp"
#include "../loops.hpp"
#include "../shapes.hpp"
#include "gather.hpp"
#include "zeros.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Where gradients are 0: by_operand[input][operand] if that operand is 0; at_zeros[input] if all
/// are. The operands are what the derivative reads in addition to the output's gradient, in which
/// every derivative is linear: the inputs, or the output.
struct GradientRule {
  int operands = 0;
  bool by_operand[2][2] = {}, at_zeros[2] = {};
};

/// With one operand, only its 0 is evaluated. With two, a function that is 0 wherever one of them
/// is 0 does not depend on the other there, so the gradient with respect to the other is 0, too.
template <class Class>
GradientRule gradient_rule(const Class& f) {
  GradientRule found{rule<Class> == Rule::nothing  ? 0
                     : rule<Class> == Rule::output ? 1
                                                   : arity<Class>};
  for (int input = 0; input < arity<Class>; ++input) {
    found.at_zeros[input] = true_for_all_types<Class>([&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        const T zero = 0, dy = 1;
        const void* in[3] = {&zero, &zero, &zero};
        in[found.operands] = &dy;
        T result = 1;
        loops<Class, T>.derivatives[input](&f, in, &result, 1);
        return result == T(0);
      } else {
        return true;
      }
    });
    for (int operand = 0; operand < found.operands; ++operand)
      found.by_operand[input][operand] = found.operands == 1
                                             ? found.at_zeros[input]
                                             : operand != input && zero_where<Class>(operand);
  }
  return found;
}

/// The sources of the gradient with respect to one input: the operands, then the output's gradient.
struct GradientSources {
  int count;
  Storage storage[3];

  int operands() const { return count - 1; }
  bool sparse(int i) const { return storage[i] != Storage::dense; }
  /// Returns the source that makes the gradient 0 wherever it is 0, or -1 if there is none. Zeros
  /// on both sides are common if both are sparse; 0 in a dense divisor is rare.
  int zero_maker(const GradientRule& rule, int input) const {
    if (sparse(operands())) return operands();
    const bool both = operands() == 2 && sparse(0) && sparse(1);
    for (int i = 0; i < operands(); ++i)
      if (sparse(i) && rule.by_operand[input][i] && (!both || rule.at_zeros[input])) return i;
    return -1;
  }
};

/// In backward: calls sparse_kernel() if every gradient can be computed this way. `operand`: the
/// storage of an operand.
[[gnu::cold]] inline void choose_gradient_storage(InferStorage& io, const GradientRule& rule,
                                                  const Storage (&operand)[2]) {
  const tenon_infer_storage& raw = io.raw();
  GradientSources sources{rule.operands + 1, {}};
  for (int i = 0; i < rule.operands; ++i) sources.storage[i] = operand[i];
  sources.storage[rule.operands] = io.output_grad(0);
  Storage found = Storage::dense;
  for (int i = 0; i < sources.count; ++i) {
    if (sources.storage[i] == Storage::dense) continue;
    if (found != Storage::dense && found != sources.storage[i]) return;
    found = sources.storage[i];
  }
  if (found == Storage::dense || !raw.input_types || raw.input_types[0].rank < 0) return;
  const Shape whole(raw.input_types[0].dims, raw.input_types[0].rank);
  Storage chosen[2] = {};
  for (int i = 0; i < io.inputs(); ++i) {
    const auto shape = io.input_type(i).shape;
    const bool is_whole = shape == whole,
               sparse_operand = rule.operands == io.inputs() && operand[i] != Storage::dense;
    const bool becomes_zero = sources.zero_maker(rule, i) >= 0;
    if (!whole.known() ||
        (!is_whole && (sparse_operand || !becomes_zero || !broadcasts_to(shape, whole))))
      return;
    chosen[i] = is_whole && becomes_zero ? found : Storage::dense;
  }
  for (int i = 0; i < io.inputs(); ++i) io.set_output(i, chosen[i]);
  io.sparse_kernel();
}

template <class T>
void copy_loop(const void*, const void* const* in, void* out, std::int64_t n) {
  std::memmove(out, in[0], static_cast<std::size_t>(n) * sizeof(T));
}

/// One call of such a kernel.
class GradientCall {
 public:
  GradientCall(const Call& call, const Kernel& kernel, const GradientRule& rule)
      : call_(call),
        raw_(call.raw()),
        kernel_(kernel),
        rule_(rule),
        sources_{rule.operands + 1, {}} {
    for (int i = 0; i < rule.operands; ++i)
      source_[i] = kernel.rule == Rule::output ? raw_.outputs[0] : raw_.inputs[i];
    source_[rule.operands] = raw_.output_grads[0];
    for (int i = 0; i < sources_.count; ++i)
      sources_.storage[i] = static_cast<Storage>(source_[i]->storage);
  }

  /// A gradient that uses the memory of the output's gradient comes last, because the others still
  /// read it.
  void run() const {
    for (const bool in_place : {false, true})
      for (int i = 0; i < call_.inputs(); ++i) {
        const Write write = write_of(call_, i);
        if (write == Write::none || (write == Write::in_place) != in_place) continue;
        const int zero_maker = sources_.zero_maker(rule_, i);
        zero_maker < 0 ? everywhere(i) : at_pattern(i, *source_[zero_maker]);
      }
  }

 private:
  Job job(int input, tenon_tensor& result, Write write) const {
    const Loops& loops = *kernel_.loops;
    return {kernel_.op,
            loops.derivatives[input],
            loops.accumulate_gradient,
            kernel_.convert,
            loops.compute,
            loops.compute,
            &result,
            write};
  }

  const tenon_tensor* source(int i) const { return i < sources_.count ? source_[i] : nullptr; }

  void compute_at(int input, const tenon_tensor& pattern, tenon_tensor result) const {
    const GatheredValues first(call_, pattern, source(0)), second(call_, pattern, source(1)),
        third(call_, pattern, source(2));
    const GatheredValues* const all[] = {&first, &second, &third};
    Job at = job(input, result, Write::to);
    for (int i = 0; i < sources_.count; ++i) at.read(all[i]->tensor());
    map(call_, at);
  }

  void at_pattern(int input, const tenon_tensor& pattern) const {
    const tenon_tensor& input_grad = *raw_.input_grads[input];
    if (input_grad.storage == TENON_DENSE) return sum_over_pattern(input, pattern);
    const tenon_tensor& out = allocate_like(raw_, pattern, static_cast<std::uint32_t>(input));
    const Stored stored(pattern);
    const auto count = elements(pattern, stored, stored.count);
    copy_indices(columns_of(out), stored.columns_of, stored.count);
    if (stored.row_starts) copy_indices(starts_of(out), stored.row_starts, stored.rows + 1);
    compute_at(input, pattern, flat(out, stored_data(out), &count));
  }

  /// The gradient of a broadcast input: summed in the order of the stored elements, in double.
  void sum_over_pattern(int input, const tenon_tensor& pattern) const {
    tenon_tensor& input_grad = *raw_.input_grads[input];
    const bool is_double = kernel_.loops->compute == DType::f64;
    const auto count = elements(pattern, Stored(pattern), pattern.stored),
               sums = element_count(input_grad.dense);
    const Scratch<unsigned char> terms(count * 8);
    const Scratch<double> totals(sums);
    tenon_tensor result = flat(pattern, terms.data(), &count);
    result.dtype = static_cast<std::uint8_t>(kernel_.loops->compute);
    compute_at(input, pattern, result);
    for (std::int64_t i = 0; i < sums; ++i) totals[i] = 0;
    tenon_dense row_major = input_grad.dense;
    row_major.strides = nullptr;
    const StoredDensePairs pairs(pattern, row_major, sizeof(double));
    for (std::int64_t line = 0; line < pairs.lines(); ++line)
      pairs.each(line, [&](std::int64_t element, std::int64_t offset) {
        const auto position = offset / static_cast<std::int64_t>(sizeof(double));
        totals[position] +=
            is_double ? reinterpret_cast<const double*>(terms.data())[element]
                      : static_cast<double>(reinterpret_cast<const float*>(terms.data())[element]);
      });
    is_double ? write_sums<double>(totals, sums, input_grad, input)
              : write_sums<float>(totals, sums, input_grad, input);
  }

  template <class T>
  void write_sums(const Scratch<double>& totals, std::int64_t count, tenon_tensor& input_grad,
                  int input) const {
    const Scratch<T> rounded(count);
    for (std::int64_t i = 0; i < count; ++i) rounded[i] = static_cast<T>(totals[i]);
    tenon_tensor from = input_grad;
    from.dtype = static_cast<std::uint8_t>(dtype_of<T>);
    from.dense.data = rounded.data();
    from.dense.byte_offset = 0;
    from.dense.strides = nullptr;
    Job copy = job(input, input_grad, write_of(call_, input));
    copy.loop = copy_loop<T>;
    copy.read(&from);
    map(call_, copy);
  }

  /// Computes the gradient as if sparse operands were 0 everywhere, and then corrects it at their
  /// stored elements. The corrections are computed first, because the result may overwrite the
  /// output's gradient.
  void everywhere(int input) const {
    tenon_tensor& input_grad = *raw_.input_grads[input];
    const Patch first(*this, input, sparse_operand(0)), second(*this, input, sparse_operand(1));
    Job all = job(input, input_grad, write_of(call_, input));
    for (int i = 0; i < sources_.count; ++i)
      all.read(sources_.storage[i] == Storage::dense ? source_[i] : nullptr);
    map(call_, all);
    first.put(input_grad);
    second.put(input_grad);
  }

  const tenon_tensor* sparse_operand(int i) const {
    return i < rule_.operands && sources_.storage[i] != Storage::dense ? source_[i] : nullptr;
  }

  /// The gradient at the stored elements of one operand.
  class Patch {
   public:
    Patch(const GradientCall& call, int input, const tenon_tensor* pattern)
        : gradient_call_(call),
          pattern_(pattern),
          values_(pattern ? elements(*pattern, Stored(*pattern), pattern->stored) * size(*pattern)
                          : 0) {
      if (!pattern) return;
      const auto count = elements(*pattern, Stored(*pattern), pattern->stored);
      call.compute_at(input, *pattern, flat(*pattern, values_.data(), &count));
    }
    void put(const tenon_tensor& input_grad) const {
      if (!pattern_) return;
      const auto bytes = size(input_grad);
      auto* const to = static_cast<unsigned char*>(
          const_cast<void*>(static_cast<const void*>(first_element(input_grad))));
      const auto* const from = values_.data();
      for_each_pair(gradient_call_.call_, StoredDensePairs(*pattern_, input_grad.dense, bytes),
                    [=](std::int64_t element, std::int64_t offset) {
                      std::memcpy(to + offset, from + element * bytes,
                                  static_cast<std::size_t>(bytes));
                    });
    }

   private:
    static std::int64_t size(const tenon_tensor& tensor) {
      return static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.dtype)));
    }
    const GradientCall& gradient_call_;
    const tenon_tensor* pattern_;
    Scratch<unsigned char> values_;
  };

  const Call& call_;
  const tenon_call& raw_;
  const Kernel& kernel_;
  const GradientRule& rule_;
  GradientSources sources_;
  const tenon_tensor* source_[3] = {};
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
