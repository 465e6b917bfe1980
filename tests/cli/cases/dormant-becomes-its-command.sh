# the environment, and nothing between the shell and the command
joulemap dormant -- sh -c 'echo "$JOULEMAP_DORMANT $(basename "$CUDA_INJECTION64_PATH") $(basename "$NVTX_INJECTION64_PATH")"; exit 3'
echo "exit code $?"
joulemap dormant -- sh -c 'echo $$' >pid &
wait $!
[ "$(cat pid)" = $! ] || echo "another process"
joulemap dormant -- no-such-command
echo "exit code $?"
joulemap dormant
echo "exit code $?"
joulemap dormant --print shell -- true
echo "exit code $?"
(eval "$(joulemap dormant --print shell)" && echo "$JOULEMAP_DORMANT")
joulemap dormant --print file | sed 's/=.*lib/=.../'
CUDA_INJECTION64_PATH=/other.so joulemap dormant -- sh -c 'echo "$CUDA_INJECTION64_PATH"'
