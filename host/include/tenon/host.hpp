// Until version 0.3, the old path of <tenon/host/host.hpp>.
#pragma once
#include <tenon/host/host.hpp>
