#include "c_plugin.h"
RECORD(0)
KERNEL(cpu, split, &sound_table)
