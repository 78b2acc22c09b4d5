// Until version 0.3, the old path of <tenon/host/failure.hpp>.
#pragma once
#include <tenon/host/failure.hpp>
