# the CUDA driver of the command loads our library, and NVTX does: these variables tell them to
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH KOKKOS_TOOLS_LIBS
show='echo "kernels ${CUDA_INJECTION64_PATH##*/}, ranges ${NVTX_INJECTION64_PATH##*/}, Kokkos ${KOKKOS_TOOLS_LIBS##*/}"'
joulemap record --sim h200 -o with.joulemap -- sh -c "$show" 2>/dev/null
joulemap record --sim h200 --no-kernels -o without.joulemap -- sh -c "$show" 2>/dev/null
