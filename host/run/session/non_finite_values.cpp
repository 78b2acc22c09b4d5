// The step observer that finds NaN and infinities.
#include <fmt/format.h>

#include <cmath>
#include <tenon/visit.hpp>

#include "run/session/step_observer.hpp"
#include "tensor/channels_last.hpp"
#include "tensor/finite.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

std::int64_t stored_elements(const tenon_tensor& tensor) {
  std::int64_t count = tensor.storage == TENON_DENSE ? 1 : tensor.stored;
  for (int axis = tensor.storage == TENON_DENSE ? 0 : 1;
       tensor.storage != TENON_CSR && axis < tensor.dense.ndim; ++axis)
    count *= tensor.dense.shape[axis];
  return count;
}

// Copies elements on a GPU to `memory`, which the caller keeps alive.
const std::byte* on_cpu(const tenon_tensor& tensor, std::int64_t elements, Tensor& memory) {
  const auto dtype = static_cast<DType>(tensor.dtype);
  if (tensor.dense.device_type != TENON_CPU) {
    memory = Tensor::empty(dtype, {elements});
    copy_bytes(tensor.dense, memory.abi().dense, static_cast<std::uint64_t>(memory.bytes()));
    return static_cast<const std::byte*>(memory.data());
  }
  return static_cast<const std::byte*>(tensor.dense.data) + tensor.dense.byte_offset;
}

// Values that the plan does not compute have no memory.
std::string non_finite(const Execution& execution, ValueId id) {
  const auto& tensor = execution.tensor(id);
  if (tensor.dense.data == nullptr || !is_known(execution.plan().types()[id])) return {};
  const auto dtype = static_cast<DType>(tensor.dtype);
  Tensor memory;
  const auto count = stored_elements(tensor);
  const auto* elements = on_cpu(tensor, count, memory);
  const auto element = first_non_finite(dtype, elements, count);
  if (element < 0) return {};
  return visit<floating + any_complex>(dtype, [&]<class T>() {
    const T value = reinterpret_cast<const T*>(elements)[element];
    const auto shown = row_major_index(tensor.dense, element);
    if constexpr (is_complex<T>) {
      return fmt::format("element {} is {}{:+}j", shown, value.re, value.im);
    } else {
      const auto number = static_cast<double>(value);
      return fmt::format(
          "element {} is {}", shown,
          std::isnan(number) ? std::abs(number) : number);  // the sign of NaN is irrelevant
    }
  });
}

}  // namespace

NonFiniteValues::NonFiniteValues(const Execution& execution) : execution_(execution) {
  const auto& model = execution.plan().model();
  for (ValueId id = 0; id < model.values.size() && found_.empty(); ++id)
    if (model.values[id].role != Role::output)
      if (const auto found = non_finite(execution, id); !found.empty())
        found_ = fmt::format("'{}': {}", value_label(model, id), found);
}

bool NonFiniteValues::after(std::size_t step) {
  const auto& plan = execution_.plan();
  if (plan.copied_from(step) != nullptr) return true;  // its source was checked
  const auto& node = plan.node(step);
  for (ValueId id = node.first_output; id < node.first_output + node.output_count && found_.empty();
       ++id)
    if (const auto found = non_finite(execution_, id); !found.empty())
      found_ = fmt::format("{}: {}", node_label(plan.model(), plan.node_of(step)), found);
  return found_.empty();
}

}  // namespace tenon
