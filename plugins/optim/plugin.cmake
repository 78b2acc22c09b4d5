# sqrt sets errno for negative numbers by default, which prevents vectorization of its loop.
set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -fno-math-errno)
