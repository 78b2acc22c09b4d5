// The whole C++ library: include this, or the headers that you need. Authors of plugins include the SDK's <tenon/operator.hpp> or
// <tenon/elementwise.hpp> instead.
#pragma once
#include <tenon/host/arrays.hpp>
#include <tenon/host/batched_run.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/catalog.hpp>
#include <tenon/host/check.hpp>
#include <tenon/host/crash.hpp>
#include <tenon/host/devices.hpp>
#include <tenon/host/draw.hpp>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/isolation.hpp>
#include <tenon/host/mapped_files.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/optimize.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/prepared_call.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/testing.hpp>
#include <tenon/host/trainer.hpp>
#include <tenon/host/trust.hpp>
#include <tenon/host/udf.hpp>
