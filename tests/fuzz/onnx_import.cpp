// Arbitrary bytes as an ONNX model: it is imported with the bundled plugins' manifests, with
// unknown nodes kept, then saved and shown, or there is a Failure.
#include <tenon/host/onnx.hpp>

#include "accepts.hpp"
#include "built.hpp"
#include "onnx/import/importer.hpp"
#include "plugins/strict_host.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(onnx_import)(const std::uint8_t* bytes, std::size_t size) {
  static StrictHost host(1);
  const std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  std::copy_n(reinterpret_cast<const std::byte*>(bytes), size, memory.get());
  std::optional<tenon::onnx::Model> model;
  accepts([&] { model = tenon::onnx::read_model({"m.onnx", {memory.get(), size}, memory}); });
  if (!model) return 0;
  for (const bool keep : {false, true}) {
    tenon::onnx::ImportOptions options;
    options.keep_unknown = keep;
    options.prefer_functions = size % 2 != 0;
    try {
      auto graph = tenon::onnx::Importer(host, *model, options).import();
      graph.to_json();
      if (keep) tenon::Graph::from_bytes(host, graph.to_bytes());
    } catch (const tenon::Failure& failure) {
      if (failure.kind() != tenon::FailureKind::file &&
          failure.kind() != tenon::FailureKind::plugin)
        std::abort();
    }
  }
  return 0;
}
