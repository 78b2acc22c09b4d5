// Until version 0.3, the old path of <tenon/host/trainer.hpp>.
#pragma once
#include <tenon/host/trainer.hpp>
