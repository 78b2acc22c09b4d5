// All you need to write an operator: derive a class from tenon::Operator, describe it, give it a
// forward, register it.
//
//     struct Twice : tenon::Operator {
//       static constexpr void describe(auto& op) {
//         op.doc("2 x");
//         op.types({tenon::f32});
//         op.input("x", "any shape");
//         op.output("y", "same shape as x");
//       }
//       void forward(const tenon::Call& call) const {
//         auto x = call.input<float>(0);
//         auto y = call.output<float>(0);
//         for (std::int64_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
//       }
//     };
//     TENON_OPERATOR(twice, Twice)
//
// To build a plugin:
//     g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -I<sdk> twice.cpp -o twice.so
#pragma once
#include "call.hpp"
#include "compose.hpp"
#include "detail/manifest.hpp"
#include "detail/registration.hpp"
#include "gradient.hpp"
#include "infer.hpp"
#include "infer_storage.hpp"
#include "operator_class.hpp"
#include "prepare.hpp"
#include "table.hpp"
#include "visit.hpp"
#include "wide.hpp"
