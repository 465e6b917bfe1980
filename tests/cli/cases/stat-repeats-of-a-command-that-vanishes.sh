# a command that is not there any more for a later run is named; what was measured before it is shown, all of it
for last in 2 1; do
    cat >job <<SH
#!/bin/sh
n=\$((\$(cat count 2>/dev/null || echo 0) + 1))
echo \$n >count
sleep 0.2
test \$n -lt $last || rm job
SH
    chmod +x job
    rm -f count
    joulemap stat --no-cpu --sim h200 -r 5 -- ./job
    echo "exit code $?"
done
