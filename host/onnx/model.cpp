#include "onnx/model.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "onnx/wire.hpp"

namespace tenon::onnx {
namespace {

using proto::Function;

auto key_of(const Function& function) {
  return std::tuple(function.domain, function.name, function.overload);
}

std::string label(const Function& function) {
  return fmt::format("{}{}{}{}{}", shown(function.domain),
                     function.domain.empty() ? "" : "::", shown(function.name),
                     function.overload.empty() ? "" : ":", shown(function.overload));
}

/// Call graph of a model's functions, by index: the callees of all functions in one array.
class Calls {
 public:
  explicit Calls(const Model& model) {
    for (const auto& function : model.functions) {
      starts_.push_back(called_.size());
      for_each_node(function.nodes, [&](const proto::Node& node) {
        if (const auto* const callee = model.function(node.domain, node.type, node.overload))
          called_.push_back(static_cast<std::uint32_t>(callee - model.functions.data()));
      });
    }
    starts_.push_back(called_.size());
  }
  std::size_t first(std::uint32_t function) const { return starts_[function]; }
  std::size_t end(std::uint32_t function) const { return starts_[function + 1]; }
  std::uint32_t operator[](std::size_t call) const { return called_[call]; }

 private:
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> called_;
};

struct Visit {
  std::uint32_t function;
  std::size_t next_call;
};

[[noreturn]] void refuse_cycle(const Model& model, const std::vector<Visit>& call_path,
                               std::uint32_t again) {
  auto visit = std::find_if(call_path.begin(), call_path.end(),
                            [&](const Visit& on_path) { return on_path.function == again; });
  std::string text;
  for (int shown = 0; visit != call_path.end() && shown < 8; ++visit, ++shown)
    text += "'" + label(model.functions[visit->function]) + "' calls ";
  refuse_file(model.path, "recursive functions: {}{}'{}'", text,
              visit == call_path.end() ? "" : "... calls ", label(model.functions[again]));
}

}  // namespace

void index_functions(Model& model) {
  const auto count = model.functions.size();
  auto* const sorted = model.arena->make<const Function*>(count, "functions");
  for (std::size_t i = 0; i < count; ++i) sorted[i] = &model.functions[i];
  std::sort(sorted, sorted + count, [](const Function* left, const Function* right) {
    return key_of(*left) < key_of(*right);
  });
  model.functions_by_name = {sorted, count};
  const auto* const duplicate = std::adjacent_find(
      model.functions_by_name.begin(), model.functions_by_name.end(),
      [](const Function* left, const Function* right) { return key_of(*left) == key_of(*right); });
  if (duplicate != model.functions_by_name.end())
    refuse_file(model.path, "duplicate function '{}'", label(**duplicate));
}

// Depth-first search without recursion, because call chains may be as long as the file.
void refuse_cycles(const Model& model) {
  enum class State : std::uint8_t { unseen, open, done };
  const Calls calls(model);
  std::vector<State> states(model.functions.size());
  std::vector<Visit> call_path;
  const auto enter = [&](std::uint32_t function) {
    states[function] = State::open;
    call_path.push_back({function, calls.first(function)});
  };
  for (std::uint32_t root = 0; root < states.size(); ++root) {
    if (states[root] == State::unseen) enter(root);
    while (!call_path.empty()) {
      auto& [function, next] = call_path.back();
      if (next == calls.end(function)) {
        states[function] = State::done;
        call_path.pop_back();
        continue;
      }
      const auto callee = calls[next++];
      if (states[callee] == State::open) refuse_cycle(model, call_path, callee);
      if (states[callee] == State::unseen) enter(callee);
    }
  }
}

const proto::Function* Model::function(std::string_view domain_name, std::string_view type,
                                       std::string_view overload) const {
  const auto key = std::tuple(domain_name, type, overload);
  const auto* const found = std::lower_bound(
      functions_by_name.begin(), functions_by_name.end(), key,
      [](const proto::Function* left, const auto& right) { return key_of(*left) < right; });
  return found != functions_by_name.end() && key_of(**found) == key ? *found : nullptr;
}

std::vector<OperatorUse> operators_of(const Model& model) {
  std::vector<const proto::Node*> nodes;
  const auto add = [&](const proto::Node& node) { nodes.push_back(&node); };
  for_each_node(model.graph.nodes, add);
  for (const auto& function : model.functions) for_each_node(function.nodes, add);
  const auto key = [](const proto::Node* node) {
    return std::tie(node->domain, node->type, node->overload);
  };
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](const auto* left, const auto* right) { return key(left) < key(right); });
  std::vector<OperatorUse> uses;
  for (const auto* const node : nodes) {
    if (uses.empty() || key(uses.back().first) != key(node)) uses.push_back({node, 0});
    ++uses.back().count;
  }
  return uses;
}

}  // namespace tenon::onnx
