#include "c_plugin.h"
RECORD(0)
extern const tenon_operator* a_function_that_nobody_has(void);
OPERATOR(undefined_symbol, MANIFEST(T16 "undefined_symbol", T0, ONE, NO),
         a_function_that_nobody_has())
