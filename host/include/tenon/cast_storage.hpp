// Until version 0.3, the old path of <tenon/host/cast_storage.hpp>.
#pragma once
#include <tenon/host/cast_storage.hpp>
