// Arbitrary bytes as an ONNX model: it is read, or a Failure says what is wrong. A model that was
// read is described, and its tensors' elements are read, but no external data file.
#include "accepts.hpp"
#include "onnx/model.hpp"
#include "onnx/tensor_data.hpp"
#include "target.hpp"

namespace {

using namespace tenon::onnx;

void read_tensors(TensorReader& reader, const proto::Graph& graph) {
  for (const auto& tensor : graph.initializers) accepts([&] { reader.read(tensor); });
  for (const auto& tensor : graph.sparse_initializers) accepts([&] { reader.read(tensor); });
  for (const auto& node : graph.nodes)
    for (const auto& attribute : node.attributes) {
      if (const auto* const inner = std::get_if<const proto::Graph*>(&attribute.value))
        read_tensors(reader, **inner);
      if (const auto* const tensor = std::get_if<const proto::Tensor*>(&attribute.value))
        accepts([&] { reader.read(**tensor); });
    }
}

}  // namespace

TENON_FUZZ_TARGET(onnx_model)(const std::uint8_t* bytes, std::size_t size) {
  // An allocation of exactly this size.
  const std::shared_ptr<std::byte[]> copy(new std::byte[size]);
  std::copy(bytes, bytes + size, reinterpret_cast<std::uint8_t*>(copy.get()));
  accepts([&] {
    const auto model =
        read_model(tenon::FileBytes{"/nonexistent/m.onnx", {copy.get(), size}, copy});
    for (const auto& use : operators_of(model))
      if (use.count == 0 || use.first->type.empty()) std::abort();
    TensorReader reader(model);
    read_tensors(reader, model.graph);
  });
  return 0;
}
