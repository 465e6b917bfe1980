# make install: command, library, headers, joulemap.pc, man page and completions; a C program is compiled against them, and all of it
# works where it was moved to
cmake --install "$BUILD_DIR" --prefix "$PWD/first" >/dev/null
mv first moved
"$SOURCE_DIR/scripts/try-installed" moved/bin
find moved/share -type f | sort
