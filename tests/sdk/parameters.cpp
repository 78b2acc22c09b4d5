// create() with attributes: every call that may follow op.param() has its effect, and errors name
// the parameter, the value and the requirement.
#include <doctest/doctest.h>

#include <limits>
#include <tenon/operator.hpp>
#include <tenon/table.hpp>

#include "call_by_hand.hpp"

namespace {

enum class Side { left, right };

struct Chosen : tenon::Operator {
  float low = 1, high = 0, above = 2;
  std::int32_t whole = 0;
  double number = 0;
  bool flag = false;
  tenon::Ints list = {1, 2};
  tenon::Text mode = "mean";
  Side side = Side::left;
  tenon::DType dtype = tenon::f32;

  static constexpr void describe(auto& op) {
    op.doc("parameters of all kinds");
    op.input("x", "any shape");
    op.output("y", "same shape as x").hidden();
    op.state("s", "any shape").initial(1);
    op.param("low", &Chosen::low, "at least 1").at_least(1);
    op.param("high", &Chosen::high, "at most 1").at_most(1);
    op.param("above", &Chosen::above, "greater than 1").greater_than(1);
    op.param("whole", &Chosen::whole, "less than 1").less_than(1);
    op.param("number", &Chosen::number, "any").required();
    op.param("flag", &Chosen::flag, "any");
    op.param("list", &Chosen::list, "from 1 to 5").at_least(1).at_most(5);
    op.param("mode", &Chosen::mode, "a text").one_of({"mean", "sum"});
    op.param("side", &Chosen::side, "an enum")
        .one_of({{"left", Side::left}, {"right", Side::right}});
    op.param("dtype", &Chosen::dtype, "a dtype").one_of(tenon::floating);
  }
  void forward(const tenon::Call&) const {}
};

tenon_attribute attribute(const char* name, std::uint32_t kind) {
  tenon_attribute made{};
  made.name = name;
  made.kind = kind;
  return made;
}
tenon_attribute real(const char* name, double value) {
  auto made = attribute(name, TENON_ATTR_FLOAT);
  made.f = value;
  return made;
}
tenon_attribute whole(const char* name, std::int64_t value) {
  auto made = attribute(name, TENON_ATTR_INT);
  made.i = value;
  return made;
}
tenon_attribute text(const char* name, std::string_view value) {
  auto made = attribute(name, TENON_ATTR_TEXT);
  made.text = value.data();
  made.count = value.size();
  return made;
}
tenon_attribute ints(const char* name, const std::vector<std::int64_t>& values) {
  auto made = attribute(name, TENON_ATTR_INTS);
  made.ints = values.data();
  made.count = values.size();
  return made;
}

// The final values of the object, as name=value; or the error.
std::string made_of(const std::vector<tenon_attribute>& attributes) {
  const auto* table = tenon::table_of<Chosen>();
  void* object = nullptr;
  by_hand::ErrorText error;
  if (table->create(attributes.data(), attributes.size(), &object, &error.raw) != 0)
    return error.text;
  std::string found;
  tenon::attributes_of(
      *static_cast<const Chosen*>(object), [&](std::string_view name, const auto& value) {
        found += (found.empty() ? "" : " ") + std::string(name) + "=";
        if constexpr (requires { value.begin()[0] + 1; } &&
                      !std::is_same_v<std::decay_t<decltype(value)>, std::string_view>)
          for (const auto item : value) found += std::to_string(item) + ";";
        else
          found += tenon::join(value);
      });
  table->destroy(object);
  return found;
}

}  // namespace

TEST_CASE("create() sets parameters, or reports which one is wrong and why") {
  const std::vector<std::int64_t> five = {5, 1}, six = {1, 6};
  const struct {
    std::vector<tenon_attribute> given;
    std::string found;
  } cases[] = {
      {{real("number", 0.5)},
       "low=1 high=0 above=2 whole=0 number=0.5 flag=false list=1;2; mode=mean side=left "
       "dtype=float32"},
      {{whole("number", 3), real("low", 1), real("high", 1), real("above", 1.5), whole("whole", -7),
        ints("list", five), text("mode", "sum"), text("side", "right"), text("dtype", "bfloat16")},
       "low=1 high=1 above=1.5 whole=-7 number=3 flag=false list=5;1; mode=sum side=right "
       "dtype=bfloat16"},
      {{}, "parameter 'number' is required"},
      {{real("number", 0), real("low", 0.5)}, "parameter 'low' is 0.5 but must be at least 1"},
      {{real("number", 0), real("high", 1.5)}, "parameter 'high' is 1.5 but must be at most 1"},
      {{real("number", 0), real("above", 1)}, "parameter 'above' is 1 but must be greater than 1"},
      {{real("number", 0), whole("whole", 1)}, "parameter 'whole' is 1 but must be less than 1"},
      {{real("number", 0), real("low", std::numeric_limits<double>::quiet_NaN())},
       "parameter 'low' is nan but must be at least 1"},
      {{real("number", 0), ints("list", six)}, "parameter 'list' is 6 but must be at most 5"},
      {{real("number", 0), text("mode", "max")},
       "parameter 'mode' is 'max' but must be one of mean, sum"},
      {{real("number", 0), text("side", "up")},
       "parameter 'side' is 'up' but must be one of left, right"},
      {{real("number", 0), text("dtype", "int32")},
       "parameter 'dtype' is 'int32' but must be one of float16, bfloat16, float32, float64"},
      {{real("number", 0), whole("flag", 1)}, "parameter 'flag' must be true or false, not 1"},
      {{real("numbr", 0)},
       "unknown parameter 'numbr'; the parameters are: low, high, above, whole, number, flag, "
       "list, mode, side, dtype"},
  };
  for (const auto& c : cases) CHECK(made_of(c.given) == c.found);
}
