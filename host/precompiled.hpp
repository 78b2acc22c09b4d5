// What most sources of the host include, parsed once for all of them.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tenon/failure.hpp>
#include <vector>

#include "graph/model.hpp"
