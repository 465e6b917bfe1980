# a machine with CMake alone: each thing that is missing is a line with its cure, and all of them one command
env -i PATH="$PWD" "$(command -v cmake)" -S "$SOURCE_DIR" -B build -DJM_TESTS=OFF -DCMAKE_MAKE_PROGRAM=make \
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF 2>&1 | grep -A 10 'cannot be built'
