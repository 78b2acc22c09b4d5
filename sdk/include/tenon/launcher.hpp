// Until version 0.4, the old path of <tenon/host/launcher.hpp>.
#pragma once
#include "detail/launcher.hpp"
