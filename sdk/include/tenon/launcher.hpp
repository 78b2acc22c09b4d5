// Until version 0.3, the old path of <tenon/host/launcher.hpp>, which an installation has next to
// the SDK and a checkout has in host/include.
#pragma once
#if __has_include("host/launcher.hpp")
#include "host/launcher.hpp"
#else
#include "../../../host/include/tenon/host/launcher.hpp"
#endif
