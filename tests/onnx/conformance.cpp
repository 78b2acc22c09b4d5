// ONNX's own tests from Debian's libonnx-testdata: each model comes with inputs and expected
// outputs. A model must either give the expected outputs or be rejected.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <sstream>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>

#include "../built.hpp"
#include "onnx/tensor_data.hpp"
#include "onnx_bytes.hpp"

namespace onnx = tenon::onnx;
namespace fs = std::filesystem;

namespace conformance {
namespace {

/// TENON_ONNX_CASES: further cases in that format, as written by backend.py.
const char* const elsewhere = std::getenv("TENON_ONNX_CASES");
const fs::path data = elsewhere == nullptr ? "/usr/share/libonnx-testdata/data" : elsewhere;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Reads a tensor as the only initializer of a model. Tensors of sequences have no names.
tenon::Tensor tensor_of(const fs::path& path, const std::string& tensor) {
  const auto named = tensor + onnx_bytes::message([](auto& to) { to.add_string(8, "t"); });
  const auto graph = onnx_bytes::message([&](auto& to) { to.add_message(5, named); });
  const auto bytes = onnx_bytes::message([&](auto& to) {
    to.add_int64(1, 8);
    to.add_message(8, onnx_bytes::message([](auto& opset) { opset.add_int64(2, 13); }));
    to.add_message(7, graph);
  });
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.size());
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  const auto model =
      onnx::read_model(tenon::FileBytes{path.string(), {copy->data(), copy->size()}, copy});
  return onnx::TensorReader(model).read(model.graph.initializers[0]).clone();
}

std::vector<std::string> messages(const std::string& bytes, std::uint32_t field) {
  std::vector<std::string> found;
  protozero::pbf_reader reader(bytes);
  while (reader.next())
    if (reader.tag() == field)
      found.push_back(reader.get_string());
    else
      reader.skip();
  return found;
}

struct Value {
  bool is_sequence = false;
  std::vector<tenon::Tensor> tensors{};  ///< empty for an optional without an element

  std::string name(const std::string& of_model, std::size_t i) const {
    return is_sequence ? of_model + "_" + std::to_string(i) : of_model;
  }
};

/// `type`: of the model's input or output.
Value value_of(const fs::path& path, std::string_view type) {
  constexpr std::string_view optional = "optional ";
  std::vector<std::string> parts{bytes_of(path)};
  Value value;
  if (type.starts_with(optional)) {
    type.remove_prefix(optional.size());
    parts = messages(parts[0], type.starts_with("sequence") ? 5 : 3);
  }
  value.is_sequence = type.starts_with("sequence");
  if (value.is_sequence && !parts.empty()) parts = messages(parts[0], 3);
  for (const auto& part : parts) value.tensors.push_back(tensor_of(path, part));
  return value;
}

std::vector<Value> values_of(const fs::path& base, const std::vector<onnx::ValueInfo>& infos) {
  std::vector<Value> values;
  for (const auto& info : infos) {
    const fs::path path = base.string() + std::to_string(values.size()) + ".pb";
    if (!fs::exists(path)) break;
    values.push_back(value_of(path, info.type));
  }
  return values;
}

tenon::Tensor numbers(tenon::Host& host, const tenon::Tensor& tensor) {
  return tensor.dtype() == tenon::f64 ? tensor
                                      : host.call("tenon.cast", {tensor}, {{"dtype", "float64"}});
}

/// Tolerance of a case; a file in its folder overrides the default of onnx.backend.test.
struct Tolerance {
  explicit Tolerance(const fs::path& folder) {
    std::ifstream file(folder / "tolerance.txt");
    if (file) file >> relative >> absolute;
  }
  double relative = 1e-3, absolute = 1e-7;
};

/// The comparison of onnx.backend.test.
bool is_near(tenon::Host& host, const tenon::Tensor& made, const tenon::Tensor& expected,
             const Tolerance& tolerance) {
  if (made.dtype() != expected.dtype() || made.shape() != expected.shape()) return false;
  const auto left = numbers(host, made), right = numbers(host, expected);
  const double relative =
      made.dtype() == tenon::bf16 ? std::max(tolerance.relative, 0x1p-6) : tolerance.relative;
  for (std::int64_t i = 0; i < left.size(); ++i) {
    const double a = left.values<double>()[i], b = right.values<double>()[i];
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::fabs(a - b) <= tolerance.absolute + relative * std::fabs(b))) return false;
  }
  return true;
}

struct Result {
  bool refused = false, right = false;
  std::string reason{};
};

/// `fixes`: make integer inputs constants, because real models have constant axes and shapes.
Result result_of(tenon::Host& host, const fs::path& folder, bool fixes) {
  Result result;
  try {
    const auto set = folder / "test_data_set_0";
    const auto info = onnx::describe(folder / "model.onnx");
    const auto given = values_of(set / "input_", info.inputs),
               expected = values_of(set / "output_", info.outputs);
    onnx::ImportOptions options;
    tenon::NamedTensors inputs;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto& [is_sequence, tensors] = given[i];
      const auto& name = info.inputs[i].name;
      if (is_sequence) options.lengths.emplace(name, tensors.size());
      if (fixes && !is_sequence && i > 0 && tensors.at(0).dtype() == tenon::i64)
        options.fixed.emplace(name, tensors[0]);
      else
        for (std::size_t at = 0; at < tensors.size(); ++at)
          inputs.emplace(given[i].name(name, at), tensors[at]);
    }
    auto graph = onnx::load(host, folder / "model.onnx", options);
    const auto made = tenon::Session(graph).run(inputs);
    result.right = true;
    std::size_t compared = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (std::size_t at = 0; at < expected[i].tensors.size(); ++at, ++compared) {
        const auto name = expected[i].name(info.outputs[i].name, at);
        const auto found = made.find(name);
        if (found != made.end() &&
            is_near(host, found->second, expected[i].tensors[at], Tolerance(folder)))
          continue;
        result.right = false;
        result.reason = "output '" + name + "' differs";
      }
    if (compared != made.size()) {
      result.right = false;
      result.reason = "the number of outputs differs";
    }
  } catch (const tenon::Failure& failure) {
    result.refused = true;
    result.reason = failure.what();
  }
  return result;
}

// Skips the first line, which is a header.
std::set<std::string> names_in(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return {std::istream_iterator<std::string>(file), {}};
}

}  // namespace

// TENON_ONNX_REPORT=FILE: writes every case and its result, from which tests/onnx/passing.txt is
// made.
TEST_CASE("ONNX's own tests give the right results or are rejected" *
          doctest::skip(!fs::exists(data))) {
  tenon::HostOptions options;
  options.search_defaults = false;
  options.warn = [](const std::string&) {};
  tenon::Host host(options);
  host.add_plugins(built("plugins"));
  const auto passing = names_in(fs::path(__FILE__).parent_path() / "passing.txt");
  // The files of version 1.12 truncate where ONNX now rounds to nearest, and lack the epsilon that
  // their numbers include.
  const std::set<std::string> outdated{"node/test_cast_FLOAT_to_BFLOAT16",
                                       "node/test_adam_multiple"};
  const auto random = [](const std::string& name) {
    return name.find("bernoulli") != std::string::npos ||
           name.find("training_dropout") != std::string::npos;
  };
  const char* const to = std::getenv("TENON_ONNX_REPORT");
  std::ofstream report(to == nullptr ? "/dev/null" : to);
  std::size_t right = 0;
  for (const auto* kind : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    std::set<fs::path> folders;
    if (!fs::exists(data / kind)) continue;
    for (const auto& entry : fs::directory_iterator(data / kind)) folders.insert(entry.path());
    for (const auto& folder : folders) {
      const auto name = std::string(kind) + "/" + folder.filename().string();
      if (random(name) || (elsewhere == nullptr && outdated.contains(name))) continue;
      CAPTURE(name);
      auto result = result_of(host, folder, false);
      if (result.refused) {
        const auto fixed = result_of(host, folder, true);
        if (!fixed.refused) result = fixed;
      }
      report << (result.right     ? "right   "
                 : result.refused ? "refused "
                                  : "WRONG   ")
             << name << "  " << result.reason << "\n"
             << std::flush;
      CHECK_MESSAGE((result.right || result.refused), result.reason);
      if (elsewhere == nullptr && passing.contains(name))
        CHECK_MESSAGE(result.right, result.reason);
      right += result.right ? 1 : 0;
    }
  }
  CHECK((elsewhere != nullptr || right >= passing.size()));
}

}  // namespace conformance
