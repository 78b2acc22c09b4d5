#include "cli/print/json_text.hpp"

#include <cmath>
#include <tenon/visit.hpp>

#include "cli/print/report.hpp"
#include "cli/streams.hpp"
#include "io/json_text.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

// Indents JSON by two spaces per level, with one member or element per line.
std::string indented(const JsonItem& item) {
  std::string out;
  std::size_t level = 0;
  bool quoted = false, escaped = false;
  const auto break_line = [&] { out.append(1, '\n').append(2 * level, ' '); };
  for (const char c : item.text) {
    if (!quoted && (c == ' ' || c == '\n')) continue;
    const bool opens = !quoted && (c == '{' || c == '['),
               closes = !quoted && (c == '}' || c == ']');
    const bool after_opening = !quoted && (out.ends_with('{') || out.ends_with('['));
    if (closes) --level;
    if (closes != after_opening) break_line();
    out += c;
    if (opens) ++level;
    if (!quoted && c == ',') break_line();
    if (!quoted && c == ':') out += ' ';
    if (c == '"' && !escaped) quoted = !quoted;
    escaped = c == '\\' && !escaped;
  }
  return out;
}

template <class T>
concept HasFields = requires(const T& value) {
  T::each_field(value, [](const char*, const auto&, auto&&...) {});
};

template <class T>
JsonItem to_json(const T& value);
JsonItem describe(const Tensor& tensor);

JsonItem list_of(const auto& values) {
  std::vector<JsonItem> items;
  items.reserve(values.size());
  for (const auto& value : values) items.push_back(to_json(value));
  return json_list(items);
}

// null marks what a manifest leaves out; infinities are explicit values, so they become strings.
JsonItem attribute_json(const auto& value) {
  if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return to_json(value);
}

template <class T>
std::vector<JsonItem> members_of(const T& value) {
  std::vector<JsonItem> members;
  T::each_field(value, [&](const char* key, const auto& member, auto&&...) {
    members.insert(members.end(), {key, to_json(member)});
  });
  return members;
}

template <class T>
JsonItem to_json(const T& value) {
  if constexpr (std::is_same_v<T, AttributeValue>)
    return std::visit([](const auto& content) { return attribute_json(content); }, value.variant());
  else if constexpr (std::is_same_v<T, ParamKind>)
    return kind_name(value);
  else if constexpr (std::is_same_v<T, DType>)
    return name_of(value);
  else if constexpr (std::is_same_v<T, Tensor>)
    return value.shape().rank() != 1 ? describe(value)
                                     : visit<table_types>(value.dtype(), [&]<class Element>() {
                                         return list_of(value.template values<Element>());
                                       });
  else if constexpr (std::is_same_v<T, DTypeMask>)
    return list_of(names_of(value));
  else if constexpr (HasFields<T>)
    return json_members(members_of(value));
  else if constexpr (requires { value.has_value(); })
    return value ? to_json(*value) : JsonItem::null();
  else if constexpr (std::is_convertible_v<T, JsonItem>)
    return value;
  else
    return list_of(value);
}

JsonItem describe(const OperatorInfo& info, const JsonItem& file = {}) {
  auto members = members_of(info);
  const auto input = [&](int i) { return info.inputs[static_cast<std::size_t>(i)].name; };
  const auto output = [&](int i) { return info.outputs[static_cast<std::size_t>(i)].name; };
  std::vector<JsonItem> inplace, backward_inplace, linear;
  for (const auto& [from, to] : info.inplace)
    inplace.push_back(json_list({input(from), output(to)}));
  for (const auto& [from, to] : info.backward_inplace)
    backward_inplace.push_back(json_list({output(from), input(to)}));
  for (const auto& [left, right] : info.linear)
    linear.push_back(json_list(right < 0 ? std::vector<JsonItem>{input(left)}
                                         : std::vector<JsonItem>{input(left), input(right)}));
  members.insert(members.end(),
                 {"full_name", info.full_name(), "linear", json_list(linear), "inplace",
                  json_list(inplace), "backward_inplace", json_list(backward_inplace),
                  "backward_reads", list_of(info.read_by_backward()), "file", file});
  return json_members(members);
}

JsonItem describe(const PluginFile& file) {
  std::vector<JsonItem> kernels;
  for (const auto& kernel : file.kernels)
    kernels.push_back(json_object("op", kernel.op, "device", kernel.device, "variant",
                                  kernel.variant.empty() ? JsonItem() : kernel.variant));
  return json_object("path", file.path.string(), "status", name_of(file.status), "reason",
                     file.reason, "name", file.name, "version", file.version, "compiler",
                     file.compiler, "abi_minor", file.abi_minor, "sdk_version", file.sdk_version,
                     "cuda_version", file.cuda_version, "operators", list_of(file.operators),
                     "kernels", json_list(kernels));
}

// Returns null for negative values, which mean unknown.
JsonItem known(std::int64_t value) {
  return value < 0 ? JsonItem::null() : value;
}

JsonItem describe(const PlannedStep& step) {
  static constexpr const char* writes[] = {"none", "to", "in_place", "add"};  // enum Write
  std::vector<JsonItem> outputs;
  for (const auto& output : step.outputs)
    outputs.push_back(json_object("value", output.value, "dtype", name_of(output.dtype), "shape",
                                  list_of(output.shape), "storage", name_of(output.storage),
                                  "offset", known(output.offset), "write",
                                  writes[static_cast<int>(output.write)], "layout",
                                  output.channels_last ? "channels_last" : "plain"));
  const bool copies = !step.copied_from.empty();
  std::vector<JsonItem> packed;
  for (const auto& constant : step.packed_constants)
    packed.push_back(
        json_object("value", constant.value, "key", constant.key, "bytes", constant.bytes));
  const auto packed_constants = json_list(packed);
  // kept, and kept_bytes below: deprecated keys, until 0.4
  return json_object(
      "node", step.node, "op", step.op, "device", step.device, "captured", step.captured,
      "sparse_kernel", step.sparse, "variant", step.variant.empty() ? JsonItem() : step.variant,
      "from", copies ? step.copied_from : JsonItem(), "bytes",
      copies ? known(step.copied) : JsonItem(), "reordered",
      step.reordered < 0 ? JsonItem() : JsonItem(step.reordered), "outputs", json_list(outputs),
      "workspace", step.workspace, "without", step.without.empty() ? JsonItem() : step.without,
      "packed_constants", packed_constants, "kept", packed_constants, "nodes", list_of(step.nodes),
      "algorithm", step.algorithm.empty() ? JsonItem() : step.algorithm);
}

JsonItem describe(const MemoryUse& use, const PlanInfo& plan) {
  return json_object("name", use.name, "device", plan.arenas[use.arena].device, "workspace",
                     use.workspace, "bytes", use.bytes, "offset", use.offset, "first", use.first,
                     "last", use.last, "in_place_of",
                     use.in_place_of.empty() ? JsonItem::null() : use.in_place_of);
}

JsonItem list_of_passes(const PlanInfo& plan) {
  std::vector<JsonItem> passes;
  for (const auto& pass : plan.passes) {
    std::vector<JsonItem> counts;
    for (const auto& [what, count] : pass.counts) counts.insert(counts.end(), {what, count});
    passes.push_back(json_object("name", pass.name, "doc", pass.doc, "changes", pass.changes,
                                 "counts", json_members(counts)));
  }
  return json_list(passes);
}

constexpr std::size_t max_values = 4096;  // that people can read

JsonItem low_bit_values(const Tensor& contiguous) {
  const auto& format = low_bit_format(contiguous.dtype());
  const auto* code = static_cast<const std::uint8_t*>(contiguous.data());
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
  for (std::int64_t i = 0; i < contiguous.size(); ++i) {
    const auto number = format.decode(*code++);
    if (format.is_integer())
      integers.push_back(static_cast<std::int64_t>(number));
    else
      floats.push_back(number);
  }
  return format.is_integer() ? list_of(integers) : list_of(floats);
}

JsonItem values_of(const Tensor& tensor) {
  if (static_cast<std::size_t>(tensor.size()) > max_values) return {};
  if (low_bit.has(tensor.dtype())) return low_bit_values(tensor.make_contiguous());
  return visit<every_type>(tensor.dtype(), [contiguous = tensor.make_contiguous()]<class T>() {
    if constexpr (is_half<T>) {
      std::vector<double> values;
      for (const auto value : contiguous.values<T>()) values.push_back(static_cast<float>(value));
      return list_of(values);
    } else if constexpr (is_complex<T>) {
      std::vector<std::vector<double>> values;
      for (const auto value : contiguous.values<T>()) values.push_back({value.re, value.im});
      return list_of(values);
    } else {
      return list_of(contiguous.values<T>());
    }
  });
}

JsonItem describe(const Tensor& tensor) {
  const auto storage = tensor.storage();
  const bool csr = storage == Storage::csr;
  return json_object("dtype", name_of(tensor.dtype()), "shape", list_of(tensor.shape()), "storage",
                     storage == Storage::dense ? JsonItem() : name_of(storage), "values",
                     values_of(tensor.stored_values()), "columns",
                     csr ? values_of(tensor.columns()) : JsonItem(), "row_starts",
                     csr ? values_of(tensor.row_starts()) : JsonItem(), "row_ids",
                     storage == Storage::row_sparse ? values_of(tensor.row_ids()) : JsonItem());
}

JsonItem describe_names(const std::string& name, const Tensor& tensor,
                        const Categories& categories) {
  const auto names = categories.names_of(tensor, fmt::format("output '{}'", name));
  return json_object("dtype", "text", "shape", list_of(tensor.shape()), "values",
                     names.size() > max_values ? JsonItem() : list_of(names));
}

}  // namespace

std::vector<std::string_view> names_of(DTypeMask mask) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    if (allows(mask, static_cast<DType>(i))) names.emplace_back(name_of(static_cast<DType>(i)));
  return names;
}

JsonItem::JsonItem(std::string_view value) {
  append_json_text(text, well_formed(value));
}

JsonItem::JsonItem(double value) : text(std::isfinite(value) ? fmt::to_string(value) : "null") {
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
}

JsonItem json_members(const std::vector<JsonItem>& keys_and_values) {
  JsonItem object;
  object.text.push_back('{');
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2)
    if (const auto& value = keys_and_values[i + 1]; !value.text.empty())
      object.text +=
          (object.text.size() == 1 ? "" : ", ") + keys_and_values[i].text + ": " + value.text;
  object.text += '}';
  return object;
}

JsonItem json_list(const std::vector<JsonItem>& items) {
  JsonItem list;
  for (const auto& item : items) list.text += (list.text.empty() ? "[\n  " : ",\n  ") + item.text;
  list.text += items.empty() ? "[]" : "\n]";
  return list;
}

void print(const JsonItem& item) {
  write_result(item.text + '\n');
}

std::string json_text(const Failure& failure) {
  const auto hint = hint_of(failure);
  return indented(json_object("error", failure.what(), "exit_code",
                              static_cast<int>(failure.kind()), "hint",
                              hint.empty() ? JsonItem() : hint));
}

std::string json_text(const OperatorInfo& info) {
  return indented(describe(info));
}
std::string json_text(const PluginFile& file) {
  return indented(describe(file));
}

std::string json_text(const Catalog& catalog,
                      const std::vector<const CatalogOperator*>& requested) {
  std::vector<JsonItem> operators, files, searched;
  for (const auto* op : requested)
    operators.push_back(describe(
        op->info, op->file < 0
                      ? JsonItem()
                      : catalog.files()[static_cast<std::size_t>(op->file)].path.string()));
  for (const auto& file : catalog.files()) files.push_back(describe(file));
  for (const auto& folder : catalog.searched()) searched.emplace_back(folder.string());
  return indented(json_object("operators", json_list(operators), "files", json_list(files), "notes",
                              list_of(catalog.notes()), "searched", json_list(searched)));
}

std::string json_text(const PlanInfo& plan, bool passes) {
  std::vector<JsonItem> steps, memory, devices;
  for (const auto& step : plan.steps) steps.push_back(describe(step));
  for (const auto& use : plan.memory) memory.push_back(describe(use, plan));
  for (const auto& arena : plan.arenas)
    devices.push_back(json_object("device", arena.device, "bytes", arena.bytes, "lower_bound",
                                  arena.lower_bound, "ratio", arena.ratio(), "strategy",
                                  arena.strategy));
  std::vector<JsonItem> removed;
  for (const auto& [node, why] : plan.removed)
    removed.push_back(json_object("node", node, "why", why));
  return indented(
      json_object("passes", passes ? list_of_passes(plan) : JsonItem(), "steps", json_list(steps),
                  "left_out", removed.empty() ? JsonItem() : json_list(removed), "memory",
                  json_list(memory), "devices", json_list(devices), "bytes", plan.bytes(),
                  "packed_bytes", plan.packed_bytes(), "kept_bytes", plan.packed_bytes()));
}

std::string json_text(const OrderedTensors& tensors,
                      const std::map<std::string, Categories>& categories) {
  std::vector<JsonItem> members;
  for (const auto& [name, tensor] : tensors) {
    const auto found = categories.find(name);
    members.insert(members.end(),
                   {name, found == categories.end() ? describe(tensor)
                                                    : describe_names(name, tensor, found->second)});
  }
  return indented(json_members(members));
}

}  // namespace tenon::cli
