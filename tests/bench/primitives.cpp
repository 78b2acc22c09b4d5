// The products and convolutions of whole networks in Tenon, each compared with the bare oneDNN
// primitive: weights packed once, the primitive's preferred layouts, one thread. Both run in the
// network's order, so that neither finds more data in caches.
//   OMP_NUM_THREADS=1 bench_primitives [--turns N] GRAPH...    graph.json or .tenon files
// Prints a line of JSON for each graph: microseconds of each node, the least of all turns, in Tenon
// and bare, and both in bfloat16 if the machine supports it. A node that was fused with others has
// the time of the fused step.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <unordered_map>

#include "../plugin_options.hpp"
#include "../temporary_folder.hpp"

namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
using Type = memory::data_type;

const dnnl::engine& engine() {
  static const dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}

double microseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// A primitive with memory of its own.
class Bare {
 public:
  Bare(dnnl::primitive primitive, const std::vector<std::pair<int, memory::desc>>& arguments)
      : primitive_(std::move(primitive)) {
    for (const auto& [name, desc] : arguments) {
      auto& made = arguments_.emplace(name, memory(desc, engine())).first->second;
      std::memset(made.get_data_handle(), 0x3c,
                  desc.get_size());  // 0.0115 as float32 and as bfloat16
    }
  }
  double run() {
    return microseconds([&] {
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    });
  }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_{engine()};
  std::unordered_map<int, memory> arguments_;
};

/// A node in the terms of oneDNN's primitives.
struct Work {
  std::string name, what;
  Dims data, weight, output;
  bool bias = false;
  Dims stride{}, pad{};
};

template <class T>
T parameter(const tenon::NodeInfo& node, std::string_view name) {
  const auto found = std::find_if(node.attributes.begin(), node.attributes.end(),
                                  [&](const auto& each) { return each.first == name; });
  if (found == node.attributes.end())
    throw std::runtime_error("node " + node.name + " has no parameter " + std::string(name));
  return std::get<T>(found->second.variant());
}

memory::desc any(const Dims& dims, Type type) {
  return {dims, type, Tag::any};
}

memory::desc plain(const Dims& dims, Type type) {
  Dims strides(dims.size(), 1);
  for (auto axis = dims.size() - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * dims[axis];
  return {dims, type, strides};
}

template <class Primitive, class... Args>
Bare bare(const std::optional<memory::desc>& bias, const Args&... args) {
  const typename Primitive::primitive_desc made(typename Primitive::desc(args...), engine());
  std::vector<std::pair<int, memory::desc>> arguments{{DNNL_ARG_SRC, made.src_desc()},
                                                      {DNNL_ARG_WEIGHTS, made.weights_desc()},
                                                      {DNNL_ARG_DST, made.dst_desc()}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, *bias);
  return {Primitive(made), arguments};
}

/// oneDNN's primitives for the node; for a product with weights, two alternatives.
std::vector<Bare> primitives(const Work& work, Type type) {
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  std::vector<Bare> made;
  if (work.what == "matmul") {
    made.push_back(bare<dnnl::matmul>({}, plain(work.data, type), plain(work.weight, type),
                                      plain(work.output, type)));
  } else if (work.what == "fully_connected") {
    const auto data = plain(work.data, type), output = plain(work.output, type),
               weight = any(work.weight, type);
    const auto across = any({work.weight[1], work.weight[0]}, type),
               row = plain({1, work.output[1]}, Type::f32);
    const auto bias = plain({work.output[1]}, Type::f32);
    made.push_back(bare<dnnl::inner_product_forward>(bias, kind, data, weight, bias, output));
    made.push_back(bare<dnnl::matmul>(row, data, across, row, output));
  } else {
    const auto data = any(work.data, type), output = any(work.output, type),
               weight = any(work.weight, type);
    const auto bias = plain({work.output[1]}, Type::f32);
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    made.push_back(work.bias
                       ? bare<dnnl::convolution_forward>(bias, kind, direct, data, weight, bias,
                                                         output, work.stride, work.pad, work.pad)
                       : bare<dnnl::convolution_forward>({}, kind, direct, data, weight, output,
                                                         work.stride, work.pad, work.pad));
  }
  return made;
}

std::vector<Work> work_of(const tenon::Graph& graph) {
  std::vector<Work> found;
  for (const auto& node : graph.nodes()) {
    if (node.op != "fully_connected" && node.op != "convolution" && node.op != "matmul") continue;
    const auto shape = [&](const std::string& value) {
      const auto dims = graph.shape(graph.find(value));
      return Dims(dims.begin(), dims.end());
    };
    Work work{node.name, node.op, shape(node.inputs[0]), shape(node.inputs[1]),
              shape(node.outputs[0])};
    work.bias = node.inputs.size() > 2 && !node.inputs[2].empty();
    if (node.op == "convolution") {
      work.stride = parameter<Dims>(node, "stride");
      work.pad = parameter<Dims>(node, "pad");
    } else if (node.op == "fully_connected") {  // rows of features
      const auto rows = [](const Dims& dims, std::int64_t columns) {
        std::int64_t size = 1;
        for (const auto dim : dims) size *= dim;
        return Dims{size / columns, columns};
      };
      work.data = rows(work.data, work.weight[1]);
      work.output = rows(work.output, work.weight[0]);
    } else if (parameter<bool>(node, "transpose_b")) {
      std::swap(work.weight.end()[-1], work.weight.end()[-2]);
    }
    found.push_back(std::move(work));
  }
  return found;
}

/// Whether a step's name is the node's, or contains it.
bool names(const std::string& step, const std::string& node) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = step.find(node); at != std::string::npos; at = step.find(node, at + 1))
    if ((at == 0 || !part(step[at - 1])) &&
        (at + node.size() == step.size() || !part(step[at + node.size()])))
      return true;
  return false;
}

/// Runs a session and returns the time of each step of that run.
class Ours {
 public:
  Ours(const tenon::Graph& graph, tenon::DType precision)
      : session_(graph, {.profile = true, .precision = precision}) {
    for (const auto& input : graph.inputs())
      inputs_.emplace(input.name, tenon::full(*input.dtype, input.shape, 0.01));
  }
  std::map<std::string, double> run() {
    session_.run(inputs_);
    std::map<std::string, double> times;
    for (const auto& time : session_.times()) {
      times[time.node] = (time.seconds - std::exchange(before_[time.node], time.seconds)) * 1e6;
    }
    return times;
  }

 private:
  tenon::Session session_;
  tenon::NamedTensors inputs_;
  std::map<std::string, double> before_;
};

struct Least {
  double microseconds = std::numeric_limits<double>::infinity();
  void add(double found) { microseconds = std::min(microseconds, found); }
};

/// The session and the primitives of one precision, and the least times of each node.
class Pair {
 public:
  Pair(const tenon::Graph& graph, const std::vector<Work>& work, Type type)
      : work_(work),
        tenon_(work.size()),
        bare_(work.size()),
        ours_(graph, type == Type::bf16 ? tenon::bf16 : tenon::f32) {
    for (const auto& each : work) primitives_.push_back(primitives(each, type));
  }
  void run(bool counts) {
    for (std::size_t i = 0; i < work_.size(); ++i)
      for (auto& one : primitives_[i])
        if (const auto found = one.run(); counts) bare_[i].add(found);
    const auto times = ours_.run();
    for (std::size_t i = 0; counts && i < work_.size(); ++i) {
      const auto step = std::find_if(times.begin(), times.end(), [&](const auto& time) {
        return names(time.first, work_[i].name);
      });
      if (step == times.end()) throw std::runtime_error("no step contains node " + work_[i].name);
      tenon_[i].add(step->second);
    }
  }
  void write(nlohmann::json& nodes, const std::string& suffix) const {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      nodes[i]["tenon" + suffix] = tenon_[i].microseconds;
      nodes[i]["bare" + suffix] = bare_[i].microseconds;
    }
  }

 private:
  const std::vector<Work>& work_;
  std::vector<Least> tenon_, bare_;
  Ours ours_;
  std::vector<std::vector<Bare>> primitives_;
};

/// Without the products of an attention, which is one step with a softmax inside: oneDNN has no
/// equivalent primitive.
std::vector<Work> work_with_steps(const tenon::Graph& graph) {
  const auto times = Ours(graph, tenon::f32).run();
  auto work = work_of(graph);
  std::erase_if(work, [&](const Work& each) {
    return each.what == "matmul" && std::none_of(times.begin(), times.end(), [&](const auto& time) {
             return names(time.first, each.name);
           });
  });
  return work;
}

nlohmann::json measure(const tenon::Graph& graph, int turns) {
  const auto work = work_with_steps(graph);
  Pair single(graph, work, Type::f32);
  std::unique_ptr<Pair> half;
  try {
    half = std::make_unique<Pair>(graph, work, Type::bf16);
  } catch (const std::exception& error) {  // this machine does not support bfloat16
    std::cerr << "bench_primitives: only float32: " << error.what() << '\n';
  }
  for (int turn = 0; turn <= turns; ++turn) {  // the first turn prepares the kernels
    single.run(turn > 0);
    if (half) half->run(turn > 0);
  }
  nlohmann::json nodes = nlohmann::json::array();
  for (const auto& each : work)
    nodes.push_back(
        {{"name", each.name}, {"op", each.what}, {"data", each.data}, {"weight", each.weight}});
  single.write(nodes, "_us");
  if (half) half->write(nodes, "_bf16_us");
  return nodes;
}

}  // namespace

int main(int count, char** texts) try {
  if (const char* threads = std::getenv("OMP_NUM_THREADS");
      !threads || std::string(threads) != "1") {
    std::cerr << "bench_primitives: set OMP_NUM_THREADS=1; oneDNN would use all cores otherwise\n";
    return 2;
  }
  std::vector<std::string> files(texts + 1, texts + count);
  int turns = 30;
  if (files.size() > 1 && files[0] == "--turns") {
    turns = std::max(1, std::stoi(files[1]));
    files.erase(files.begin(), files.begin() + 2);
  }
  const TemporaryFolder cache;
  auto options = plugin_options(cache);
  options.threads = 1;
  tenon::Host host(options);
  host.add_plugins(TENON_TEST_PLUGINS);
  for (const auto& file : files) {
    auto graph = tenon::Graph::load(host, file);
    graph.bind();
    std::cout << nlohmann::json{{"graph", file}, {"nodes", measure(graph, turns)}}.dump()
              << std::endl;
  }
} catch (const std::exception& error) {
  std::cerr << "bench_primitives: " << error.what() << '\n';
  return 1;
}
