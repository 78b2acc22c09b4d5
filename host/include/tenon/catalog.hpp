// Until version 0.3, the old path of <tenon/host/catalog.hpp>.
#pragma once
#include <tenon/host/catalog.hpp>
