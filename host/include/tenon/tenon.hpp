// The whole C++ library: include this, or the headers that you need. Authors of plugins include the SDK's <tenon/operator.hpp> or
// <tenon/elementwise.hpp> instead.
#pragma once
#include <tenon/arrays.hpp>
#include <tenon/batched_run.hpp>
#include <tenon/cast_storage.hpp>
#include <tenon/catalog.hpp>
#include <tenon/check.hpp>
#include <tenon/devices.hpp>
#include <tenon/draw.hpp>
#include <tenon/evaluator.hpp>
#include <tenon/failure.hpp>
#include <tenon/graph.hpp>
#include <tenon/host.hpp>
#include <tenon/plan_info.hpp>
#include <tenon/prepared_call.hpp>
#include <tenon/session.hpp>
#include <tenon/tensor.hpp>
#include <tenon/tensor_functions.hpp>
#include <tenon/trainer.hpp>
#include <tenon/trust.hpp>
#include <tenon/udf.hpp>
