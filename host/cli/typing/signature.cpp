#include "cli/typing/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/print/operator_text.hpp"
#include "cli/typing/python_text.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

// The kind of argument that an overload accepts for one input.
enum class Accepts { value, value_or_array, array, numpy, kind, anything };

// One overload: the type of each input and of the result, and which of the common call options it
// has.
struct Overload {
  std::vector<Accepts> inputs;  // per declared input; the last one covers all of a variadic input
  std::string result, out;
  bool names = false, computes = false;
  std::vector<Accepts> first{};  // positional tensors before a variadic input's others
  std::size_t keyword_only = 0;  // index of the first keyword-only input; 0 if there is none
};

class Writer {
 public:
  Writer(const PythonFunction& function, PythonForm form, PythonImports& imports)
      : function_(function), info_(*function.info), form_(form), imports_(imports), names_(info_) {
    fixed_ = info_.inputs.size() - (info_.variadic() ? 1 : 0);
    // in Python, a parameter without a default cannot follow one with a default
    defaulted_ = fixed_;
    while (defaulted_ > 0 && may_be_left_out(defaulted_ - 1)) --defaulted_;
  }

  std::string text() {
    const auto overloads = all_overloads();
    const bool module = form_ == PythonForm::module;
    std::string text;
    if (overloads.size() == 1)
      return decorated("", overloads[0], false) + docstring() + (module ? made_body() : "\n");
    for (std::size_t i = 0; i < overloads.size(); ++i) {
      const bool documented = i == 0 && !module;
      text += decorated(imports_("overload"), overloads[i], !documented) +
              (documented ? docstring() + '\n' : "");
    }
    if (module) text += decorated("", implementation(), false) + docstring() + body();
    return text;
  }

 private:
  std::size_t indent() const { return function_.in_class ? 4 : 0; }

  bool may_be_left_out(std::size_t i) const {
    return info_.inputs[i].optional || info_.inputs[i].weight.value_or(false);
  }

  std::vector<Overload> all_overloads() {
    const auto numpy = imports_("Numpy");
    if (info_.inputs.empty()) return {{{}, result_of(numpy), out_of(numpy), false, true}};
    const auto count = info_.inputs.size();
    const auto value = imports_("Value"), kind = imports_("ArrayT"), any = imports_("Any");
    std::vector<Overload> overloads;
    for (std::size_t i = 0; i < fixed_; ++i) {
      std::vector<Accepts> inputs(count, Accepts::value_or_array);
      std::fill_n(inputs.begin(), i, Accepts::array);
      inputs[i] = Accepts::value;
      const bool apart = i > defaulted_ && !info_.variadic();
      overloads.push_back(
          {std::move(inputs), result_of(value), "", true, false, {}, apart ? i : 0});
    }
    if (fixed_ == 0)
      for (const auto& first :
           {std::vector{Accepts::value}, std::vector{Accepts::array, Accepts::value}})
        overloads.push_back({{Accepts::value_or_array}, result_of(value), "", true, false, first});
    overloads.push_back(
        {std::vector(count, Accepts::numpy), result_of(numpy), out_of(numpy), false, true});
    Overload same{std::vector(count, Accepts::array), result_of(kind), out_of(kind), false, true};
    (fixed_ == 0 ? same.first.emplace_back() : same.inputs[0]) = Accepts::kind;
    overloads.push_back(std::move(same));
    if (count > 1 || info_.variadic())
      overloads.push_back({std::vector(count, Accepts::value_or_array), any, any, true, true});
    return overloads;
  }

  Overload implementation() {
    const auto any = imports_("Any");
    return {std::vector(info_.inputs.size(), Accepts::anything), any, any, true, true};
  }

  // Returns the type of the visible outputs, each of type `type`.
  std::string result_of(const std::string& type) {
    std::size_t count = 0;
    bool counted = false, may_hide = false;
    for (const auto& output : info_.outputs) {
      counted |= !output.count.empty();
      count += output.hidden ? 0 : 1;
    }
    for (const auto& condition : info_.conditions) may_hide |= condition.of == "hidden";
    if (may_hide) return imports_("Any");
    if (!counted && count == 1) return type;
    auto text = imports_("tuple") + '[' + type;
    for (std::size_t i = 1; i < count && !counted; ++i) text += ", " + type;
    return text + (counted ? ", ...]" : "]");
  }
  std::string out_of(const std::string& type) {
    const auto result = result_of(type);
    return result == type || result == imports_("Any")
               ? result
               : fmt::format("{}[{}]", imports_("Sequence"), type);
  }

  std::string type_of(Accepts accepts) {
    switch (accepts) {
      case Accepts::value:
        return imports_("Value");
      case Accepts::value_or_array:
        return imports_("Value") + " | " + imports_("ArrayLike");
      case Accepts::array:
        return imports_("ArrayLike");
      case Accepts::numpy:
        return imports_("NumpyLike");
      case Accepts::kind:
        return imports_("ArrayT");
      case Accepts::anything:
        break;
    }
    return imports_("Any");
  }

  PythonExpression type_of(const ParamInfo& param) {
    if (!param.choices.empty()) {
      PythonExpression literal{imports_("Literal") + '[', {}, "]"};
      for (const auto& choice : param.choices) literal.items.push_back({python_string(choice)});
      if (param.kind == ParamKind::texts)
        literal.head = imports_("Sequence") + '[' + literal.head, literal.tail += ']';
      return literal;
    }
    switch (param.kind) {
      case ParamKind::boolean:
        return {imports_("bool")};
      case ParamKind::int32:
      case ParamKind::int64:
        return {imports_("int")};
      case ParamKind::float32:
      case ParamKind::float64:
        return {imports_("float")};
      case ParamKind::ints:
        return {fmt::format("{}[{}]", imports_("Sequence"), imports_("int"))};
      case ParamKind::floats:
        return {fmt::format("{}[{}]", imports_("Sequence"), imports_("float"))};
      case ParamKind::texts:
        return {fmt::format("{}[{}]", imports_("Sequence"), imports_("str"))};
      case ParamKind::tensor:
        return {imports_("ArrayLike")};
      case ParamKind::text:
      case ParamKind::choice:
        break;
    }
    return {imports_("str")};
  }

  void add_inputs(std::vector<PythonExpression>& items, const Overload& overload) {
    for (std::size_t i = 0; i < fixed_; ++i) {
      if (overload.keyword_only != 0 && i == overload.keyword_only) items.push_back({"*"});
      const auto accepts = overload.inputs[i];
      const bool has_value =
          accepts == Accepts::value || (overload.keyword_only == 0 && value_follows(overload, i));
      const bool nothing =
          may_be_left_out(i) && accepts != Accepts::value && accepts != Accepts::anything;
      const bool without = may_be_left_out(i) && i >= defaulted_ && !has_value;
      items.push_back({fmt::format("{}: {}{}{}", names_.inputs[i], type_of(accepts),
                                   nothing ? " | None" : "", without ? " = None" : "")});
    }
    if (!info_.variadic()) return;
    for (std::size_t i = 0; i < overload.first.size(); ++i)
      items.push_back({fmt::format("{}: {}", name_of_one(i), type_of(overload.first[i]))});
    if (!overload.first.empty()) items.push_back({"/"});
    items.push_back(
        {fmt::format("*{}: {}", names_.inputs.back(), type_of(overload.inputs.back()))});
  }

  // Names a tensor of a variadic input as the host does: part0.
  std::string name_of_one(std::size_t i) const {
    return unlike_arguments(fmt::format("{}{}", info_.inputs.back().name, i));
  }

  std::string unlike_arguments(std::string name) const {
    const auto is_taken = [&](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    while (is_taken(names_.inputs) || is_taken(names_.params)) name += '_';
    return name;
  }

  // The overload's Value argument is required, and so are the arguments before it.
  static bool value_follows(const Overload& overload, std::size_t i) {
    return std::find(overload.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                     overload.inputs.end(), Accepts::value) != overload.inputs.end();
  }

  void add_params(std::vector<PythonExpression>& items) {
    for (std::size_t i = 0; i < info_.params.size(); ++i) {
      auto expression = type_of(info_.params[i]);
      expression.head = names_.params[i] + ": " + expression.head;
      if (!info_.params[i].required)
        (expression.items.empty() ? expression.head : expression.tail) +=
            " = " + python_literal(info_.params[i].default_value, info_.params[i].kind);
      items.push_back(std::move(expression));
    }
  }

  std::string decorated(const std::string& decorator, const Overload& overload, bool whole) {
    PythonExpression expression{fmt::format("def {}(", function_.name),
                                {},
                                fmt::format(") -> {}:{}", overload.result, whole ? " ..." : "")};
    add_inputs(expression.items, overload);
    if (!info_.variadic() && overload.keyword_only == 0) expression.items.push_back({"*"});
    add_params(expression.items);
    const auto text = imports_("str");
    if (overload.names) expression.items.push_back({fmt::format("name: {} | None = None", text)});
    expression.items.push_back({fmt::format("device: {} | None = None", text)});
    if (overload.computes) {
      expression.items.push_back({fmt::format("training: {} = False", imports_("bool"))});
      expression.items.push_back({fmt::format("out: {}{} = None", overload.out,
                                              overload.out == imports_("Any") ? "" : " | None")});
    }
    const std::string margin(indent(), ' ');
    std::string text_of_lines;
    if (!decorator.empty()) text_of_lines += margin + '@' + decorator + '\n';
    if (function_.in_class) text_of_lines += margin + '@' + imports_("staticmethod") + '\n';
    return text_of_lines + python_lines(expression, indent()) + '\n';
  }

  std::string docstring() {
    std::vector<std::string> lines{printable(info_.doc)};
    const auto line = [&](const std::string& name, const std::string& doc,
                          const std::string& more) {
      lines.push_back(fmt::format("    {}: {}{}", name, printable(doc),
                                  more.empty() ? "" : fmt::format(" ({})", more)));
    };
    if (!info_.inputs.empty() || !info_.params.empty()) lines.insert(lines.end(), {"", "Args:"});
    for (std::size_t i = 0; i < info_.inputs.size(); ++i)
      line((info_.inputs[i].variadic ? "*" : "") + names_.inputs[i], info_.inputs[i].doc,
           input_text(info_, info_.inputs[i]));
    for (std::size_t i = 0; i < info_.params.size(); ++i) {
      const auto& param = info_.params[i];
      line(names_.params[i], param.doc, printable(type_and_default(param)));
    }
    lines.insert(lines.end(), {"", "Returns:"});
    for (const auto& output : info_.outputs)
      if (!output.hidden)
        lines.push_back(fmt::format("    {}: {}", output.name, printable(output_text(output))));
    return python_docstring(lines, indent() + 4);
  }

  std::string body() { return call_after("return "); }

  // Returns the body for a single signature, whose result type is known.
  std::string made_body() {
    const auto made = unlike_arguments("made");
    return call_after(fmt::format("{}: {} = ", made, result_of(imports_("Numpy")))) +
           fmt::format("{}return {}\n", std::string(indent() + 4, ' '), made);
  }

  std::string call_after(const std::string& beginning) {
    PythonExpression call{
        fmt::format("{}{}[{}](", beginning, operators_name, python_string(info_.full_name())),
        {},
        ")"};
    for (std::size_t i = 0; i < info_.inputs.size(); ++i)
      call.items.push_back({(info_.inputs[i].variadic ? "*" : "") + names_.inputs[i]});
    for (const auto& name : names_.params) call.items.push_back({fmt::format("{0}={0}", name)});
    if (!info_.inputs.empty()) call.items.push_back({"name=name"});
    for (const char* name : {"device", "training", "out"})
      call.items.push_back({fmt::format("{}={}", name, name)});
    return python_lines(call, indent() + 4) + '\n';
  }

  static constexpr const char* operators_name = "_operators";

  const PythonFunction& function_;
  const OperatorInfo& info_;
  PythonForm form_;
  PythonImports& imports_;
  PythonNames names_;
  // number of inputs that are not variadic; index of the first of the trailing ones that have a
  // default
  std::size_t fixed_ = 0, defaulted_ = 0;
};

}  // namespace

std::string PythonImports::operator()(const std::string& name) {
  used_.insert(name);
  return is_taken(name) ? '_' + name : name;
}

std::string PythonImports::import_of(const std::string& name) const {
  if (!used_.contains(name)) return {};
  return is_taken(name) ? fmt::format("{} as _{}", name, name) : name;
}

std::string python_function(const PythonFunction& function, PythonForm form,
                            PythonImports& imports) {
  return Writer(function, form, imports).text();
}

}  // namespace tenon::cli
