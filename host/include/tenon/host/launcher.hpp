// Detects the launcher that started this process together with others of the same program, such as
// mpirun and srun: launcher(), which the plugin comm uses, too.
#pragma once
#include <tenon/detail/launcher.hpp>
