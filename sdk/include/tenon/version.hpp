// The version of the SDK, and its versioned namespace: two versions in one process share nothing.
// Types that the host's headers also use (dtype.hpp, shape.hpp, error.hpp and their includes) are
// in namespace tenon itself.
#pragma once

#include "detail/visibility.hpp"

/// For #if TENON_SDK_VERSION >= 200 in plugins that support several SDKs: major * 10000 + minor *
/// 100 + patch.
#define TENON_SDK_MAJOR 0
#define TENON_SDK_MINOR 2
#define TENON_SDK_PATCH 0
#define TENON_SDK_VERSION (TENON_SDK_MAJOR * 10000 + TENON_SDK_MINOR * 100 + TENON_SDK_PATCH)

/// namespace tenon::TENON_SDK is the inline namespace tenon::sdk_0_2, whose names are found in
/// tenon.
#define TENON_SDK inline TENON_SDK_NAMESPACE(TENON_SDK_MAJOR, TENON_SDK_MINOR)
#define TENON_SDK_NAMESPACE(major, minor) TENON_SDK_JOINED(major, minor)
#define TENON_SDK_JOINED(major, minor) sdk_##major##_##minor
