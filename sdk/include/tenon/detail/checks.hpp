// Compile-time checks of an operator's class, each with a one-sentence error. TENON_OPERATOR and
// TENON_KERNEL evaluate the class's verdict first; if there is a fault, the sentence is the
// compiler's first error, and nothing else of the class is instantiated:
//
//     checks.hpp: In instantiation of
//       'struct Verdict<ClassFault::default_out_of_range, Named<'p'> >'
//     my_operator.cpp:20: required from here
//     checks.hpp:150: error: static assertion failed: the default of a parameter is outside its
//       bounds: change the member's ...
//
// Order of the checks: the base class, describe(), the description (description_checks.hpp),
// missing functions, signatures of existing ones. A function exists if the class has any member of
// its name, public or not, so that a forward with the wrong arguments is not reported as missing.
// Only a few misspelt names, such as backwards, are detected: operator_class.hpp lists the right
// ones.
//
// A new fault needs an entry in ClassFault (description.hpp), a sentence below, and a case in
// tests/compile_errors that fails with it.
#pragma once
#include "../describe.hpp"
#include "../version.hpp"
#include "members.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Whether the class has a describe() that is static, public and compiles with the calls that it
/// makes.
template <class C>
concept Described = requires(Collector<C>& op) {
  C::describe(op);
};

/// Whether describe() runs at compile time.
template <class C>
concept DescribedAtCompileTime = requires {
  typename std::bool_constant<(static_cast<void>(collect<C>()), true)>;
};

/// Functions that the class has but that cannot be called as the SDK calls them: other arguments,
/// another result, private, or not const (forward and backward may be non-const). Elementwise
/// classes have a gradient of another form, which class_checks.hpp checks.
template <class C>
constexpr ClassFault check_signatures() {
  using M = Members<C>;
  if (names_forward<C> && !M::forward && !M::compose) return ClassFault::forward_signature;
  if (names_forward_sparse<C> && !M::forward_sparse) return ClassFault::forward_sparse_signature;
  if (names_backward<C> && !M::backward) return ClassFault::backward_signature;
  if (names_backward_sparse<C> && !M::backward_sparse) return ClassFault::backward_sparse_signature;
  if (names_gradient<C> && !M::gradient && !description_of<C>.elementwise)
    return ClassFault::gradient_signature;
  if (!M::infer) return ClassFault::infer_signature;
  if (!M::storage_callable) return ClassFault::infer_storage_signature;
  if ((names_workspace<C> && !M::workspace) ||
      (names_backward_workspace<C> && !M::backward_workspace))
    return ClassFault::workspace_signature;
  if ((names_flops<C> && !M::flops) || (names_backward_flops<C> && !M::backward_flops))
    return ClassFault::flops_signature;
  if (M::wrong_algorithm) return ClassFault::algorithm_signature;
  if (names_supports<C> && !M::supports) return ClassFault::supports_signature;
  if (names_prepare<C> && !M::prepare) return ClassFault::prepare_signature;
  if (!M::configure) return ClassFault::configure_signature;
  if (M::compose && description_of<C>.states.size > 0) return ClassFault::composed_state;
  return ClassFault::none;
}

/// Misspelt functions that are never called, if the class lacks the function that was probably
/// meant.
template <class C>
constexpr ClassFault check_names() {
  if (names_forwards<C> && !names_forward<C>) return ClassFault::named_forwards;
  if (names_backwards<C> && !names_backward<C>) return ClassFault::named_backwards;
  const bool infers =
      names_infer_shape<C> || names_infer_shapes<C> || names_infer_type<C> || names_infer_types<C>;
  return infers && !Members<C>::own_infer ? ClassFault::named_infer_shape : ClassFault::none;
}

/// Returns the first fault of an operator's class. Each branch may rely on the checks of the
/// previous ones.
template <class C>
constexpr ClassFault operator_fault() {
  if constexpr (!std::is_base_of_v<Operator, C>) {
    return ClassFault::not_an_operator;
  } else if constexpr (!Described<C>) {
    return ClassFault::no_describe;
  } else if constexpr (!Literal<C>) {
    return ClassFault::not_literal;
  } else if constexpr (!DescribedAtCompileTime<C>) {
    return ClassFault::describe_not_constant;
  } else if constexpr (description_of<C>.fault != ClassFault::none) {
    return description_of<C>.fault;
  } else if constexpr (check_names<C>() != ClassFault::none) {
    return check_names<C>();
  } else {
    if (!names_forward<C> && !description_of<C>.kernels_elsewhere) return ClassFault::no_forward;
    if (description_of<C>.zero_where.size > 0 && !description_of<C>.elementwise)
      return ClassFault::zero_where_not_elementwise;
    return check_signatures<C>();
  }
}

/// Returns the first fault of a kernel's class. Its description is that of its operator, which
/// TENON_OPERATOR has checked. It need not be constructible at compile time, because it may hold
/// handles and buffers.
template <class C>
constexpr ClassFault kernel_fault() {
  if constexpr (!std::is_base_of_v<Operator, C>) {
    return ClassFault::not_an_operator;
  } else if constexpr (!Described<C>) {
    return ClassFault::no_describe;
  } else if constexpr (description_of<C>.fault != ClassFault::none) {
    return description_of<C>.fault;
  } else {
    constexpr ClassFault names = check_names<C>(), signatures = check_signatures<C>();
    if (names != ClassFault::none) return names;
    if (signatures != ClassFault::none) return signatures;
    return Members<C>::any_kernel ? ClassFault::none : ClassFault::empty_kernel;
  }
}

/// A name that compilers print letter by letter when they report what was instantiated: clang 14
/// would print a text as a list of numbers.
template <char... letters>
struct Named {};
template <class C, std::size_t... I>
constexpr auto fault_name(std::index_sequence<I...>) {
  return Named<description_of<C>.fault_of[I]...>();
}
/// The name of the parameter, input, output or state with the fault; Named<> if the fault is the
/// class's.
template <class C, ClassFault found>
constexpr auto fault_name() {
  if constexpr (found > ClassFault::describe_not_constant) {  // there is a description
    return fault_name<C>(
        std::make_index_sequence<std::string_view(description_of<C>.fault_of).size()>());
  } else {
    return Named<>();
  }
}

/// Fails to compile with exactly one sentence if there is a fault, and names its subject:
/// Verdict<..., Named<'s', 'c', 'a', 'l', 'e'>> is about the parameter scale. Everything that is
/// derived from the class afterwards checks `good` first, so that no second error hides the
/// sentence.
template <ClassFault found, class Name = Named<>>
struct Verdict {
  static constexpr bool good = found == ClassFault::none;
  static constexpr bool reported =
      true;  ///< naming it instantiates this class, including its static assertions

#define TENON_SENTENCE(fault, sentence) static_assert(found != ClassFault::fault, sentence)
  TENON_SENTENCE(not_an_operator,
                 "an operator's class must derive from tenon::Operator or tenon::Elementwise");
  TENON_SENTENCE(no_describe, "the class needs: static constexpr void describe(auto& op)");
  TENON_SENTENCE(not_literal,
                 "an operator's class must be constructible at compile time: use tenon::Text, "
                 "tenon::Ints, tenon::Floats, tenon::Texts and "
                 "tenon::Table as members instead of std::string and std::vector, and keep handles "
                 "and buffers in a class of TENON_KERNEL");
  TENON_SENTENCE(describe_not_constant,
                 "describe must run at compile time: write static constexpr void describe(auto& "
                 "op), and use only literals in it");
  TENON_SENTENCE(no_doc, "describe has no doc: add op.doc(...) with one sentence");
  TENON_SENTENCE(too_many,
                 "describe exceeds the limits of the SDK: at most 24 inputs, 16 outputs, 12 "
                 "states, 32 parameters, 64 choices, 64 "
                 "values in the defaults of lists and 64 texts in those of lists of texts, 24 "
                 "in-place pairs, 40 names in backward_reads, "
                 "24 in zero_where, 40 in takes_channels_last, 16 renamed, 16 added, 16 removed, 8 "
                 "added inputs, outputs and states each, "
                 "16 terms of linear, 8 aliases, 8 conditions of 8 "
                 "values each, 16 rules between parameters, 24 rules of rewriting, 16 forms of "
                 "onnx with 64 entries, 8 examples "
                 "with 32 inputs, 32 parameters, 96 dimensions and 96 values in all");
  TENON_SENTENCE(same_input_or_output, "two inputs or outputs have the same name");
  TENON_SENTENCE(same_state, "two states have the same name");
  TENON_SENTENCE(initial_not_finite, "the initial value of an input or a state is infinite or NaN");
  TENON_SENTENCE(same_param, "two parameters have the same name");
  TENON_SENTENCE(enum_without_choices,
                 "an enum parameter needs the names of its values: .one_of({{name, value}, ...})");
  TENON_SENTENCE(default_no_choice,
                 "the default of a parameter is not one of its choices in one_of");
  TENON_SENTENCE(default_out_of_range,
                 "the default of a parameter is outside its bounds: change the member's "
                 "initialiser, or add .required()");
  TENON_SENTENCE(variadic_not_last, "a variadic input must be the last input");
  TENON_SENTENCE(two_counts, "only one output can have a count");
  TENON_SENTENCE(count_and_allocated,
                 "an operator whose kernel allocates outputs cannot have an output with a count");
  TENON_SENTENCE(count_unknown, "the count of an output names a member that is not a parameter");
  TENON_SENTENCE(inplace_unknown,
                 "inplace(input, output) names an input or output that does not exist");
  TENON_SENTENCE(backward_inplace_unknown,
                 "backward_inplace(output, input) names an output or input that does not exist");
  TENON_SENTENCE(backward_reads_unknown,
                 "backward_reads names something that is neither an input nor an output");
  TENON_SENTENCE(linear_unknown,
                 "linear takes one input, or two different ones, none of them variadic; an input "
                 "may occur in only one term, and the "
                 "operator must have exactly one output");
  TENON_SENTENCE(zero_where_unknown, "zero_where names something that is not an input");
  TENON_SENTENCE(channels_last_unknown,
                 "takes_channels_last and prefers_channels_last must name different inputs and "
                 "outputs, none of them allocated by the kernel");
  TENON_SENTENCE(zero_where_not_elementwise,
                 "zero_where requires a class that derives from tenon::Elementwise: other classes "
                 "choose storages in infer_storage");
  TENON_SENTENCE(renamed_unknown,
                 "renamed(version, from, to) ends at a parameter that does not exist");
  TENON_SENTENCE(added_unknown, "added(version, param) names a parameter that does not exist");
  TENON_SENTENCE(removed_known,
                 "removed(version, param) names a parameter that the operator still has");
  TENON_SENTENCE(added_input_unknown,
                 "added_input(version, input) names an input that does not exist");
  TENON_SENTENCE(added_input_needed,
                 "added_input(version, input) needs an input that is .optional(): older files do "
                 "not connect it");
  TENON_SENTENCE(added_output_unknown,
                 "added_output(version, output) names an output that does not exist");
  TENON_SENTENCE(added_state_unknown,
                 "added_state(version, state) names a state that does not exist");
  TENON_SENTENCE(added_not_last,
                 "an added input, output or state must come after those of older versions: files "
                 "and callers refer to them by their order");
  TENON_SENTENCE(
      version_too_new,
      "renamed, added or removed names a version later than the operator's own: raise op.version");
  TENON_SENTENCE(no_forward,
                 "the class has no forward: write void forward(const tenon::Call& call) const, or "
                 "call op.kernels_elsewhere() if another "
                 "file defines it");
  TENON_SENTENCE(forward_signature,
                 "forward must be public: void forward(const tenon::Call& call) const, or void "
                 "forward(tenon::Compose& c) const for a graph of "
                 "other operators");
  TENON_SENTENCE(
      composed_state,
      "an operator composed of others, with forward(tenon::Compose&), cannot have states");
  TENON_SENTENCE(
      forward_sparse_signature,
      "forward_sparse must be public: void forward_sparse(const tenon::Call& call) const");
  TENON_SENTENCE(backward_signature,
                 "backward must be public: void backward(const tenon::Call& call) const");
  TENON_SENTENCE(
      backward_sparse_signature,
      "backward_sparse must be public: void backward_sparse(const tenon::Call& call) const");
  TENON_SENTENCE(gradient_signature,
                 "gradient must be public: void gradient(tenon::Gradient& g) const");
  TENON_SENTENCE(infer_signature, "infer must be public: void infer(tenon::Infer& io) const");
  TENON_SENTENCE(infer_storage_signature,
                 "infer_storage must be public: void infer_storage(tenon::InferStorage& io) const");
  TENON_SENTENCE(workspace_signature,
                 "workspace and backward_workspace must be public: std::size_t workspace(const "
                 "tenon::Infer& io) const");
  TENON_SENTENCE(
      flops_signature,
      "flops and backward_flops must be public: double flops(const tenon::Infer& io) const");
  TENON_SENTENCE(algorithm_signature,
                 "algorithm and backward_algorithm must be const: std::string algorithm(const "
                 "tenon::Infer& io) const");
  TENON_SENTENCE(supports_signature,
                 "supports must be public: bool supports(const tenon::Infer& types) const");
  TENON_SENTENCE(prepare_signature,
                 "prepare must be public: void prepare(tenon::Prepare& io) const");
  TENON_SENTENCE(configure_signature, "configure must be public: void configure()");
  TENON_SENTENCE(named_forwards,
                 "forwards is never called: write void forward(const tenon::Call& call) const");
  TENON_SENTENCE(named_backwards,
                 "backwards is never called: write void backward(const tenon::Call& call) const");
  TENON_SENTENCE(named_infer_shape,
                 "infer_shape, infer_shapes, infer_type and infer_types are never called: write "
                 "void infer(tenon::Infer& io) const for "
                 "shapes and dtypes");
  TENON_SENTENCE(space_not_a_name,
                 "op.space(name) may contain only letters, digits and underscores, and must not "
                 "begin with a digit");
  TENON_SENTENCE(condition_unknown,
                 "when(param, values...) and hidden_when(param, values...) name a parameter that "
                 "does not exist");
  TENON_SENTENCE(
      read_twice,
      "backward_reads names something twice: pass all values to one .when(param, values...)");
  TENON_SENTENCE(rule_unknown,
                 "require(param, relation, other) names a parameter that does not exist");
  TENON_SENTENCE(rule_kinds,
                 "require(param, relation, other) cannot compare these parameters: same_length "
                 "takes lists, multiple_of integers, the other "
                 "relations numbers");
  TENON_SENTENCE(example_unknown,
                 "example(inputs, params) names an input or a parameter that does not exist");
  TENON_SENTENCE(onnx_no_type, "onnx(domain, type) needs the type of an ONNX operator");
  TENON_SENTENCE(onnx_versions,
                 "a form of onnx(domain, type) has an empty range of versions, or one that "
                 "overlaps with that of another form of the type");
  TENON_SENTENCE(onnx_unknown,
                 "a form of onnx(domain, type) names an input, output, state or parameter that "
                 "does not exist");
  TENON_SENTENCE(onnx_twice,
                 "a form of onnx(domain, type) uses an attribute, input, output or index twice, or "
                 "sets a parameter twice");
  TENON_SENTENCE(onnx_index,
                 "input_as(param, index) and halves(index, first, second) need an index from 0 to "
                 "31, ahead of a variadic input");
  TENON_SENTENCE(onnx_incomplete,
                 "a form of onnx(domain, type) omits a non-optional input or a required parameter");
  TENON_SENTENCE(empty_kernel,
                 "a kernel's class needs at least one of forward, forward_sparse, backward and "
                 "backward_sparse");
#undef TENON_SENTENCE
};

template <class C>
using OperatorVerdict =
    Verdict<operator_fault<C>(), decltype(fault_name<C, operator_fault<C>()>())>;
template <class C>
using KernelVerdict = Verdict<kernel_fault<C>(), decltype(fault_name<C, kernel_fault<C>()>())>;

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
