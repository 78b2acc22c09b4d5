// describe() at run time: it sets an object's parameters from attributes, or passes them to a visitor. For the SDK, but for attributes_of()
// at the end, which applications may call.
//
// The same describe() runs with another `op` for each purpose, so that a parameter is named in one place only:
//
//     Collector (describe.hpp)    at compile time: everything becomes a Description
//     Setter                      in create(): members become the attributes of a node
//     Teller                      in attributes_of(): a visitor gets the members
//
// A class's describe() is a template, so each `op` must have every function that an author may call there: a new one is added to Collector,
// to Listener, and to both Parameters below if it follows op.param().
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "abi.h"
#include "attribute_reader.hpp"
#include "describe.hpp"
#include "names.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// An `op` that ignores everything; those that handle parameters derive from it and add param(). Its functions and their arguments are
/// those of Collector, which documents them.
class Listener {
 public:
  /// What input(), output() and state() return: it has the functions of all three.
  struct Anything {
    Anything& optional() { return *this; }
    Anything& variadic() { return *this; }
    Anything& types(Types) { return *this; }
    Anything& hidden() { return *this; }
    Anything& initial(double) { return *this; }
    template <class Base, class Int>
    Anything& count(Int Base::*) {
      return *this;
    }
  };
  Anything input(const char*, const char*) { return {}; }
  Anything output(const char*, const char*) { return {}; }
  Anything state(const char*, const char*) { return {}; }
  void doc(const char*) {}
  void version(int) {}
  void alias(const char*) {}
  void types(Types) {}
  void inplace(const char*, const char*) {}
  void backward_inplace(const char*, const char*) {}
  template <class... Names>
  void backward_reads(Names...) {}
  void zero_where(const char*) {}
  void accumulates() {}
  void takes_strides() {}
  void uses_random() {}
  void elementwise() {}
  void kernels_elsewhere() {}
  void renamed(int, const char*, const char*) {}
  void added(int, const char*) {}
};

/// Throws Error (parameter) for one attribute's value: "parameter 'p' is 1.5 but must be less than 1".
template <class Value, class Limit>
[[noreturn, gnu::cold]] void refuse_value(const char* name, const Value& value, const char* relation, const Limit& limit) {
  fail(ErrorKind::parameter, {"parameter '", name, "' is ", value, " but must be ", relation, limit});
}

/// `op` of the describe() that sets parameters. Members without an attribute keep their defaults, which were checked at compile time; those
/// with one are read when param() is called, and checked by the calls that follow it. Errors (parameter) name the parameter, its value and
/// what is needed: "parameter 'mode' is 'max' but must be one of mean, sum".
template <class Class>
class Setter : public Listener {
 public:
  template <class M>
  class Parameter {
   public:
    using Limit = BoundType<M>;
    /// attribute: null if the node does not set the parameter. An enum is read by one_of(), which knows its names.
    Parameter(const char* name, M& member, const tenon_attribute* attribute) : name_(name), member_(&member), attribute_(attribute) {
      if (!attribute) return;
      if constexpr (std::is_same_v<M, Text>) {
        member = AttributeReader(*attribute).text();
      } else if constexpr (!std::is_enum_v<M>) {
        AttributeReader(*attribute).read(member);
      }
    }

    /// Error: there is no attribute.
    Parameter& required() {
      if (!attribute_) fail(ErrorKind::parameter, {"parameter '", name_, "' is required"});
      return *this;
    }
    // Bounds hold for each value of a list; a NaN is outside of every bound.
    Parameter& at_least(Limit limit) {
      return check(limit, "at least ", [](Limit value, Limit bound) { return value >= bound; });
    }
    Parameter& at_most(Limit limit) {
      return check(limit, "at most ", [](Limit value, Limit bound) { return value <= bound; });
    }
    Parameter& greater_than(Limit limit) {
      return check(limit, "greater than ", [](Limit value, Limit bound) { return value > bound; });
    }
    Parameter& less_than(Limit limit) {
      return check(limit, "less than ", [](Limit value, Limit bound) { return value < bound; });
    }
    /// Sets the member to the value whose name the attribute is. Error: no such name.
    Parameter& one_of(std::initializer_list<std::pair<const char*, M>> choices) requires std::is_enum_v<M> {
      if (!attribute_) return *this;
      const std::string_view text = AttributeReader(*attribute_).text();
      for (const auto& choice : choices)
        if (text == choice.first) return *member_ = choice.second, *this;
      refuse_choice(choices, [](const auto& choice) { return choice.first; });
    }
    Parameter& one_of(std::initializer_list<const char*> choices) requires std::is_same_v<M, Text> {
      if (!attribute_) return *this;
      for (const char* choice : choices)
        if (*member_ == choice) return *this;
      refuse_choice(choices, [](const char* choice) { return choice; });
    }

   private:
    // The member, or each of its values, against one bound.
    template <class Holds>
    Parameter& check(Limit limit, const char* relation, Holds holds) {
      if (!attribute_) return *this;
      if constexpr (std::is_same_v<M, Limit>) {
        if (!holds(*member_, limit)) refuse_value(name_, *member_, relation, limit);
      } else {
        for (const Limit& value : *member_)
          if (!holds(value, limit)) refuse_value(name_, *member_, relation, limit);
      }
      return *this;
    }
    template <class Choices, class NameOf>
    [[noreturn, gnu::cold]] void refuse_choice(const Choices& choices, NameOf name_of_choice) {
      std::string list;
      for (const auto& choice : choices) append_text(list, join(list.empty() ? "" : ", ", name_of_choice(choice)));
      refuse_value(name_, written(*attribute_), "one of ", list);
    }

    const char* name_;
    M* member_;
    const tenon_attribute* attribute_;
  };

  /// Borrows the attributes until describe() returns; texts and lists are copied.
  Setter(Class& object, const tenon_attribute* attributes, std::uint64_t count)
      : object_(&object), attributes_(attributes), count_(count) {}

  template <class Base, class M>
  Parameter<M> param(const char* name, M Base::*member, const char*) {
    return Parameter<M>(name, object_->*member, find(name));
  }

 private:
  // Null if the node does not set it.
  const tenon_attribute* find(std::string_view name) const {
    for (std::uint64_t i = 0; i < count_; ++i)
      if (name == attributes_[i].name) return &attributes_[i];
    return nullptr;
  }

  Class* object_;
  const tenon_attribute* attributes_;
  std::uint64_t count_;
};

/// Errors (parameter): an attribute without a name, with a name that no parameter has, or with the name of another attribute.
[[gnu::cold]] inline void check_attribute_names(const tenon_attribute* attributes, std::uint64_t count, const NameGroup& params) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!attributes[i].name) fail(ErrorKind::parameter, {"parameter ", i, " has no name"});
    const std::string_view name = attributes[i].name;
    if (params.find(name, params.count) < 0)
      fail(ErrorKind::parameter, {"unknown parameter '", name, "'; the parameters are: ", params.list()});
    for (std::uint64_t other = 0; other < i; ++other)
      if (name == attributes[other].name) fail(ErrorKind::parameter, {"parameter '", name, "' is given twice"});
  }
}

/// Sets an object's parameters; after an error, some of them are set. Errors (parameter): unknown, missing, of the wrong kind, out of
/// bounds.
template <class Class>
void set_attributes(Class& object, const tenon_attribute* attributes, std::uint64_t count, const NameGroup& params) {
  check_attribute_names(attributes, count, params);
  Setter<Class> setter(object, attributes, count);
  Class::describe(setter);
}

/// `op` of the describe() that passes parameters to a visitor. It checks nothing: the object may have any values.
template <class Class, class Visitor>
class Teller : public Listener {
 public:
  template <class M>
  class Parameter {
   public:
    using Limit = BoundType<M>;
    Parameter(const char* name, const M& member, Visitor& visitor) : name_(name), member_(&member), visitor_(&visitor) {
      if constexpr (std::is_same_v<M, Text>) {
        visitor(std::string_view(name), std::string_view(member));
      } else if constexpr (!std::is_enum_v<M>) {
        visitor(std::string_view(name), member);
      }
    }
    Parameter& required() { return *this; }
    Parameter& at_least(Limit) { return *this; }
    Parameter& at_most(Limit) { return *this; }
    Parameter& greater_than(Limit) { return *this; }
    Parameter& less_than(Limit) { return *this; }
    Parameter& one_of(std::initializer_list<std::pair<const char*, M>> choices) requires std::is_enum_v<M> {
      for (const auto& choice : choices)
        if (choice.second == *member_) return (*visitor_)(std::string_view(name_), std::string_view(choice.first)), *this;
      fail(ErrorKind::parameter, {"parameter '", name_, "' has a value that its one_of does not name"});
    }
    Parameter& one_of(std::initializer_list<const char*>) requires std::is_same_v<M, Text> { return *this; }

   private:
    const char* name_;
    const M* member_;
    Visitor* visitor_;
  };

  Teller(const Class& object, Visitor& visitor) : object_(&object), visitor_(&visitor) {}
  template <class Base, class M>
  Parameter<M> param(const char* name, M Base::*member, const char*) {
    return Parameter<M>(name, object_->*member, *visitor_);
  }

 private:
  const Class* object_;
  Visitor* visitor_;
};

}  // namespace tenon::TENON_SDK::detail

namespace tenon::TENON_SDK {

/// Calls visitor(std::string_view name, value) for each parameter of an operator object, in the order of describe(). value is a bool,
/// int32_t, int64_t, float, double, Ints or Floats, or a std::string_view for texts and the names of enum values; texts are borrowed from
/// the object.
///
///     Cosine op;
///     op.scale = 2;
///     tenon::attributes_of(op, [](std::string_view name, const auto& value) { std::cout << name << '=' << value << '\n'; });  // scale=2
///
/// Error (parameter): an enum has a value that its one_of does not name.
template <class Class, class Visitor>
void attributes_of(const Class& object, Visitor&& visitor) {
  detail::Teller<Class, Visitor> teller(object, visitor);
  Class::describe(teller);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
