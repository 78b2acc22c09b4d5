// describe() at run time: sets an object's parameters from attributes, or passes them to a visitor.
// For the SDK, except attributes_of() at the end, which applications may call.
//
// The same describe() runs with a different `op` for each purpose, so that a parameter is named
// only once:
//
//     Collector (describe.hpp)    at compile time: everything becomes a Description
//     Setter                      in create(): members become the attributes of a node
//     AttributeVisitor            in attributes_of(): a visitor gets the members
//
// A class's describe() is a template, so each `op` must have every function that an author may
// call. Declarations and Parameter (declarations.hpp) have all of them; Setter and
// AttributeVisitor implement those that concern parameters. For a node with the attribute p = 1.5,
// the call
//
//     op.param("p", &Dropout::p, "probability of 0").at_least(0).less_than(1);
//
// becomes, in create(),
//
//     param("p", &Dropout::p, ...)      finds the attribute and writes 1.5 into the object
//     bound<Side::at_least>(0)          is satisfied
//     bound<Side::less_than>(1)         throws Error (parameter): "parameter 'p' is 1.5 but must be
//                                       less than 1"
//
// and in set_attributes(), for each op.require() of the class, two visits and a comparison
// (rules.hpp).
//
// If the node does not set p, the member keeps its initialiser; only required() can fail.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "abi.h"
#include "describe.hpp"
#include "detail/attribute_reader.hpp"
#include "detail/names.hpp"
#include "detail/rules.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// `op` of describe() at run time, for parameters only. Derived classes add param(). Inputs,
/// outputs, states and all other calls do nothing.
class NullDescriber : public Declarations<false> {
 public:
  constexpr NullDescriber() : Declarations<false>(nullptr) {}
  Result<void> output(const char*, const char*) { return {}; }
};

/// Throws Error (parameter) for the value of an attribute: "parameter 'p' is 1.5 but must be less
/// than 1".
template <class Value, class Limit>
[[noreturn, gnu::cold]] void refuse_value(const char* name, const Value& value,
                                          const char* relation, const Limit& limit) {
  fail(ErrorKind::parameter,
       {"parameter '", name, "' is ", value, " but must be ", relation, limit});
}

/// Sets one member from an attribute, and checks it in the calls that follow op.param(). Errors
/// (parameter) name the parameter, its value and the requirement: "parameter 'mode' is 'max' but
/// must be one of mean, sum".
template <class M>
struct SetParameter : IgnoredParameter {
  /// `attribute` is null if the node does not set the parameter. An enum is read in choices(),
  /// which has its names.
  SetParameter(const char* name, M& member, const tenon_attribute* attribute)
      : name(name), member(&member), attribute(attribute) {
    if (!attribute) return;
    if constexpr (std::is_same_v<M, Text>) {
      member = AttributeReader(*attribute).text();
    } else if constexpr (!std::is_enum_v<M>) {
      AttributeReader(*attribute).read(member);
    }
  }

  /// Fails if there is no attribute.
  void required() const {
    if (!attribute) fail(ErrorKind::parameter, {"parameter '", name, "' is required"});
  }
  /// Checks the member, or each of its values; NaN violates every bound, an empty list none.
  /// Defaults are not checked here but at compile time.
  template <Side side, class Limit>
  void bound(Limit limit) const {
    if (!attribute) return;
    if constexpr (std::is_same_v<M, Limit>) {
      check<side>(*member, limit);
    } else {
      for (const Limit& value : *member) check<side>(value, limit);
    }
  }
  /// Sets an enum to the value with the attribute's name. A text, which has been set already, must
  /// be one of the choices, and so must each text of a list. The comparison is bytewise and
  /// case-sensitive. Errors: no such name; an attribute that is not a text.
  template <class Choices>
  void choices(const Choices& choices) const {
    if (!attribute) return;
    if constexpr (std::is_same_v<M, Texts>) return each_is_one_of(choices);
    const std::string_view text = AttributeReader(*attribute).text();
    for (const auto& choice : choices) {
      if constexpr (std::is_enum_v<M>) {
        if (text == choice.first) return static_cast<void>(*member = choice.second);
      } else {
        if (text == choice) return;
      }
    }
    refuse_choice(choices);
  }

 private:
  template <Side side, class Limit>
  void check(Limit value, Limit limit) const {
    constexpr const char* relations[] = {"at least ", "at most ", "greater than ", "less than "};
    const bool holds = side == Side::at_least       ? value >= limit
                       : side == Side::at_most      ? value <= limit
                       : side == Side::greater_than ? value > limit
                                                    : value < limit;
    if (!holds) refuse_value(name, value, relations[static_cast<int>(side)], limit);
  }
  // Quadratic, because both lists are short.
  template <class Choices>
  void each_is_one_of(const Choices& choices) const {
    for (const Text& text : *member) {
      bool found = false;
      for (const char* choice : choices) found = found || text == choice;
      if (!found) refuse_choice(choices);
    }
  }
  template <class Choices>
  [[noreturn, gnu::cold]] void refuse_choice(const Choices& choices) const {
    std::string list;
    for (const auto& choice : choices) {
      append_text(list, list.empty() ? "" : ", ");
      if constexpr (std::is_enum_v<M>) {
        append_text(list, choice.first);
      } else {
        append_text(list, choice);
      }
    }
    refuse_value(name, written(*attribute), "one of ", list);
  }

  const char* name;
  M* member;
  const tenon_attribute* attribute;
};

/// `op` of the describe() that sets parameters. Members without an attribute keep their defaults,
/// which are checked at compile time.
template <class Class>
class Setter : public NullDescriber {
 public:
  /// Borrows the attributes until describe() returns; texts and lists are copied.
  Setter(Class& object, const tenon_attribute* attributes, std::uint64_t count)
      : object_(&object), attributes_(attributes), count_(count) {}

  /// Sets the member and returns the object that checks it. The member may belong to a base class.
  template <class Base, class M>
  Parameter<M, SetParameter<M>> param(const char* name, M Base::*member, const char*) {
    return Parameter<M, SetParameter<M>>({name, object_->*member, find(name)});
  }

  /// For an elementwise class that may represent its derivative (declarations.hpp): the input to
  /// differentiate by. A node without the attribute, the common case, leaves the member unchanged.
  /// The host checks the number before, and the kernel again.
  template <class Base>
  void derivative(std::int32_t Base::*member) {
    if (const tenon_attribute* attribute = find("derivative"))
      object_->*member = static_cast<std::int32_t>(attribute->i & 0x7fffffff);
  }

 private:
  // Returns null if the node does not set it.
  const tenon_attribute* find(std::string_view name) const {
    for (std::uint64_t i = 0; i < count_; ++i)
      if (name == attributes_[i].name) return &attributes_[i];
    return nullptr;
  }

  Class* object_;
  const tenon_attribute* attributes_;
  std::uint64_t count_;
};

/// Fails (parameter) for an attribute without a name, with an unknown name, or with the name of
/// another attribute. Quadratic, because the lists are short. `derivative`: an attribute name that
/// is accepted in addition to the parameters.
[[gnu::cold]] inline void check_attribute_names(const tenon_attribute* attributes,
                                                std::uint64_t count, const NameGroup& params,
                                                bool derivative) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!attributes[i].name) fail(ErrorKind::parameter, {"parameter ", i, " has no name"});
    const std::string_view name = attributes[i].name;
    if (params.find(name, params.count) < 0 && !(derivative && name == "derivative"))
      fail(ErrorKind::parameter,
           {"unknown parameter '", name, "'; the parameters are: ", params.list()});
    for (std::uint64_t other = 0; other < i; ++other)
      if (name == attributes[other].name)
        fail(ErrorKind::parameter, {"parameter '", name, "' is given twice"});
  }
}

/// Passes one member to a visitor: in the constructor, or for an enum in choices(), which has its
/// names. Lists and tables are passed by reference. Bounds are ignored.
template <class M, class Visitor>
struct VisitedParameter : IgnoredParameter {
  VisitedParameter(const char* name, const M& member, Visitor& visitor)
      : name(name), member(&member), visitor(&visitor) {
    if constexpr (std::is_same_v<M, Text>) {
      visitor(std::string_view(name), std::string_view(member));
    } else if constexpr (!std::is_enum_v<M>) {
      visitor(std::string_view(name), member);
    }
  }
  /// Passes an enum by its name, because its number may differ between versions of an operator.
  /// Fails if the value has no name.
  template <class Choices>
  void choices(const Choices& choices) const {
    if constexpr (std::is_enum_v<M>) {
      for (const auto& choice : choices)
        if (choice.second == *member)
          return static_cast<void>(
              (*visitor)(std::string_view(name), std::string_view(choice.first)));
      fail(ErrorKind::parameter, {"parameter '", name, "' has a value that is not in its one_of"});
    }
  }

 private:
  const char* name;
  const M* member;
  Visitor* visitor;
};

/// `op` of the describe() that passes parameters to a visitor. It checks nothing: the object may
/// have any values. It borrows both until describe() returns and changes neither.
template <class Class, class Visitor>
class AttributeVisitor : public NullDescriber {
 public:
  AttributeVisitor(const Class& object, Visitor& visitor) : object_(&object), visitor_(&visitor) {}
  /// Passes numbers, texts, lists and tables here, and an enum when describe() calls .one_of().
  template <class Base, class M>
  Parameter<M, VisitedParameter<M, Visitor>> param(const char* name, M Base::*member, const char*) {
    return Parameter<M, VisitedParameter<M, Visitor>>({name, object_->*member, *visitor_});
  }

 private:
  const Class* object_;
  Visitor* visitor_;
};

/// Whether a node may omit all parameters. Its object then has the class's defaults, which are
/// checked at compile time, so describe() need not run:
///
///     Relu      true: it has no parameters
///     Dropout   true: p keeps its initialiser
///     Conv      false: op.param("kernel", ...).required() must run to detect the missing parameter
template <class Class>
constexpr bool needs_no_attribute() {
  for (const ParamEntry& param : description_of<Class>.params)
    if (param.required) return false;
  return true;
}

/// Sets an object's parameters; after an error, some of them are set. Borrows the attributes for
/// the call. Errors (parameter), one at a time, names first:
///
///     unknown parameter 'scla'; the parameters are: scale, mode
///     parameter 'scale' is given twice
///     parameter 'scale' is required
///     parameter 'scale' must be a number, not 'big'                  see attribute_reader.hpp
///     parameter 'scale' is -2 but must be greater than 0
///     parameter 'mode' is 'max' but must be one of mean, sum
///     parameter 'names' is ['sum', 'max'] but must be one of mean, sum
///     parameter 'stride' is [2] but must have as many values as 'kernel', which is [3, 3]
///
/// Parameters that depend on each other in other ways are checked by the class's configure(), which
/// created() in table.hpp calls next.
template <class Class>
void set_attributes(Class& object, const tenon_attribute* attributes, std::uint64_t count,
                    const NameGroup& params) {
  if (count > 0 || !needs_no_attribute<Class>()) {
    check_attribute_names(attributes, count, params, description_of<Class>.derivative);
    Setter<Class> setter(object, attributes, count);
    Class::describe(setter);
  }
  // Operators without rules, the common case, get no code for them: the list is a constant.
  for (const RuleEntry& rule : description_of<Class>.rules) {
    RuleSide left(rule.left), right(rule.right);
    AttributeVisitor<Class, RuleSide> read_left(object, left), read_right(object, right);
    Class::describe(read_left);
    Class::describe(read_right);
    check_rule(rule.relation, left, right);
  }
}

}  // namespace tenon::TENON_SDK::detail

namespace tenon::TENON_SDK {

/// Calls visitor(std::string_view name, value) for each parameter of an operator object, in the
/// order of describe(). value is a bool, int32_t, int64_t, float, double, Ints, Floats, Texts or
/// Table, or a std::string_view for texts and for the names of enum values and dtypes; texts are
/// borrowed from the object.
///
///     Cosine op;
///     op.scale = 2;
///     // scale=2
///     tenon::attributes_of(op, [](std::string_view name, const auto& value) {
///       std::cout << name << '=' << value << '\n';
///     });
///
/// The visitor must compile for each type of the class's parameters; tenon::join(value) converts
/// any of them to text. Lists and tables are borrowed from the object, too. The visitor is called
/// on this thread for every parameter, including those with default values and values outside of
/// their bounds. Exceptions of the visitor are passed on.
///
/// Error (parameter): an enum has a value that is not in its one_of.
template <class Class, class Visitor>
void attributes_of(const Class& object, Visitor&& visitor) {
  detail::AttributeVisitor<Class, Visitor> describer(object, visitor);
  Class::describe(describer);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
