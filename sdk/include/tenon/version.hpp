// The version of the SDK, and the namespace of all that is the SDK's alone: two versions in one process have nothing in common. What the
// host's headers use, too (dtype.hpp, shape.hpp, error.hpp and what they include), is in namespace tenon itself.
#pragma once

#include "visibility.hpp"

/// For #if TENON_SDK_VERSION >= 200 in plugins that support several SDKs: major * 10000 + minor * 100 + patch.
#define TENON_SDK_MAJOR 0
#define TENON_SDK_MINOR 2
#define TENON_SDK_PATCH 0
#define TENON_SDK_VERSION (TENON_SDK_MAJOR * 10000 + TENON_SDK_MINOR * 100 + TENON_SDK_PATCH)

/// namespace tenon::TENON_SDK { is tenon::sdk_0_2, whose names are found as tenon's.
#define TENON_SDK inline TENON_SDK_NAMESPACE(TENON_SDK_MAJOR, TENON_SDK_MINOR)
#define TENON_SDK_NAMESPACE(major, minor) TENON_SDK_JOINED(major, minor)
#define TENON_SDK_JOINED(major, minor) sdk_##major##_##minor
