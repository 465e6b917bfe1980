# an empty entry in LD_LIBRARY_PATH would be the working folder: a library that lies there would be loaded
LD_LIBRARY_PATH='' joulemap record --sim h200 -o r.joulemap -- sh -c 'case ":$LD_LIBRARY_PATH:" in *::*) echo "empty entry: $LD_LIBRARY_PATH" ;; esac' 2>/dev/null
