#include <algorithm>
#include <tenon/host/operator_info.hpp>

namespace tenon {
namespace {

template <class Entries>
int find_named(const Entries& entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? -1 : static_cast<int>(found - entries.begin());
}

}  // namespace

bool OperatorInfo::has(std::string_view function) const {
  return std::find(functions.begin(), functions.end(), function) != functions.end();
}

std::vector<std::string> OperatorInfo::read_by_backward() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (backward_reads_input[i]) names.push_back(inputs[i].name);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (backward_reads_output[i]) names.push_back(outputs[i].name);
  return names;
}

bool OperatorInfo::allocates() const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const OutputInfo& output) { return output.allocated; });
}

int OperatorInfo::find_input(std::string_view name) const {
  return find_named(inputs, name);
}

int OperatorInfo::find_output(std::string_view name) const {
  return find_named(outputs, name);
}

int OperatorInfo::find_param(std::string_view name) const {
  return find_named(params, name);
}

}  // namespace tenon
