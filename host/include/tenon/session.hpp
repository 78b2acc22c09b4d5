// Until version 0.3, the old path of <tenon/host/session.hpp>.
#pragma once
#include <tenon/host/session.hpp>
