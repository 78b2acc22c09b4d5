// Until version 0.3, the old path of <tenon/host/tensor.hpp>.
#pragma once
#include <tenon/host/tensor.hpp>
