# Every operator here brings its CUDA kernel along.
set(PLUGIN_CUDA ON)
set(PLUGIN_JOINED ON)
