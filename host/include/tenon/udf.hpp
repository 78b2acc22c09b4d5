// Until version 0.3, the old path of <tenon/host/udf.hpp>.
#pragma once
#include <tenon/host/udf.hpp>
