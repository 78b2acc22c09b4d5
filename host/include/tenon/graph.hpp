// Until version 0.3, the old path of <tenon/host/graph.hpp>.
#pragma once
#include <tenon/host/graph.hpp>
