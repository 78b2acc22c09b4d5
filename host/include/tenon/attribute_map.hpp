// Until version 0.3, the old path of <tenon/host/attribute_map.hpp>.
#pragma once
#include <tenon/host/attribute_map.hpp>
