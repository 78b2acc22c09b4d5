# sqrt sets errno for negative numbers unless told not to, and a loop that may do that cannot become vector code.
set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -fno-math-errno)
