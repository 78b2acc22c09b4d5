#include "run/execution/filled_outputs.hpp"

#include <cstring>
#include <tenon/dtype.hpp>

#include "tensor/call_context.hpp"
#include "tensor/channels_last.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {
namespace {

template <int bytes>
struct Bits;
template <>
struct Bits<1> {
  using Type = std::uint8_t;
  static constexpr std::int64_t run = 8;
  static Type at(std::int64_t i) {
    return static_cast<Type>(static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15 >> 56);
  }
};
template <>
struct Bits<2> {  // a NaN of float16 and of bfloat16
  using Type = std::uint16_t;
  static constexpr std::int64_t run = 1;
  static Type at(std::int64_t) { return 0xffdb; }
};
template <>
struct Bits<4> {
  using Type = std::uint32_t;
  static constexpr std::int64_t run = 1;
  static Type at(std::int64_t) { return 0xffdb5ad7; }
};
template <>
struct Bits<8> {
  using Type = std::uint64_t;
  static constexpr std::int64_t run = 1;
  static Type at(std::int64_t) { return 0xfffdb5ad7dedbad5; }
};

const tenon_tensor& call_output(const tenon_call& call, std::uint32_t i) {
  return is_backward(call.dispatch) ? *call.input_grads[i] : *call.outputs[i];
}

/// Calls visit_output(output, elements, count, Bits<...>) for each output that is checked, until it
/// returns true.
template <class Visit>
void each_output(const tenon_call& call, const Visit& visit_output) {
  const bool backward = is_backward(call.dispatch);
  auto* const* outputs = backward ? call.input_grads : call.outputs;
  const auto count = backward ? call.input_count : call.output_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (outputs[i] == nullptr || call.writes[i] != TENON_WRITE_TO ||
        outputs[i]->storage != TENON_DENSE)
      continue;
    const auto& tensor = outputs[i]->dense;
    if (tensor.device_type != TENON_CPU || tensor.data == nullptr) continue;
    std::int64_t elements = 1;
    for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) elements *= tensor.shape[axis];
    const auto visit_as = [&]<int bytes>() {
      return visit_output(i, static_cast<typename Bits<bytes>::Type*>(tensor.data), elements,
                          Bits<bytes>());
    };
    const auto bytes = size_of(static_cast<DType>(outputs[i]->dtype));
    if (bytes == 16) elements *= 2;  // real and imaginary components
    const bool stop = bytes == 1   ? visit_as.template operator()<1>()
                      : bytes == 2 ? visit_as.template operator()<2>()
                      : bytes == 4 ? visit_as.template operator()<4>()
                                   : visit_as.template operator()<8>();
    if (stop) return;
  }
}

}  // namespace

void detach_allocated(const Plan& plan, std::size_t step, const tenon_call& call) {
  const auto& node = plan.node(step);
  for (std::uint32_t i = 0; node.pass != Pass::backward && i < node.output_count; ++i)
    if (plan.types()[node.first_output + i].storage == TENON_STORAGE_UNKNOWN)
      call.outputs[i]->dense.data = nullptr;
}

void fill_outputs(const tenon_call& call) {
  static_cast<CallContext*>(call.context)->filled = true;
  if (call.workspace != nullptr) std::memset(call.workspace, 0xff, call.workspace_size);
  each_output(call, [](std::uint32_t, auto* elements, std::int64_t count, auto bits) {
    for (std::int64_t i = 0; i < count; ++i) elements[i] = bits.at(i);
    return false;
  });
}

std::optional<UnwrittenElement> find_unwritten(const tenon_call& call) {
  std::optional<UnwrittenElement> found;
  each_output(call, [&](std::uint32_t output, const auto* elements, std::int64_t count, auto bits) {
    std::int64_t same = 0;
    for (std::int64_t i = 0; i < count && !found; ++i) {
      same = elements[i] == bits.at(i) ? same + 1 : 0;
      const auto components =
          size_of(static_cast<DType>(call_output(call, output).dtype)) == 16 ? 2 : 1;
      if (same == bits.run)
        found = {output,
                 row_major_index(call_output(call, output).dense, (i + 1 - same) / components)};
    }
    return found.has_value();
  });
  return found;
}

}  // namespace tenon
