# also with a path that systemd would take for something else; none that it takes for nothing
for folder in 'a $b%c d' "it's"; do
    mkdir "$folder"
    cp -P "$BUILD_DIR"/joulemap "$BUILD_DIR"/libjoulemap.so* "$folder/"
    "$folder/joulemap" capd --unit >unit
    echo "exit code $?"
    sed "s|=\"$(realpath .)|=\"HERE|" unit | grep -E '^(\[|ExecStart|KillMode|CapabilityBoundingSet|PrivateNetwork)' || true
done
