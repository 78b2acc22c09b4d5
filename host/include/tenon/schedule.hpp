// Until version 0.3, the old path of <tenon/host/schedule.hpp>.
#pragma once
#include <tenon/host/schedule.hpp>
