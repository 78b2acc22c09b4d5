#include "graph/snapshot.hpp"

#include <tenon/host/cast_storage.hpp>

namespace tenon {

const std::vector<Tensor>& KernelTensors::of(const GraphModel& model) const {
  std::call_once(converted_, [&] {
    std::vector<Tensor> tensors(model.values.size());
    for (ValueId id = 0; id < tensors.size(); ++id) {
      if (model.values[id].tensor == none) continue;
      const auto& tensor = model.tensors[model.values[id].tensor];
      tensors[id] =
          tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
    }
    tensors_ = std::move(tensors);
  });
  return tensors_;
}

}  // namespace tenon
