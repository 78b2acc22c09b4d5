// Until version 0.3, the old path of <tenon/host/operator_info.hpp>.
#pragma once
#include <tenon/host/operator_info.hpp>
