# Runs go to the folder of .git, whatever folder they were begun in, and verbs take the newest one.
export JOULEMAP_SIM=h200 JOULEMAP_SIM_SEED=1
shape() { sed -E 's/[+-]?[0-9]+(\.[0-9]+)?/N/g; s/  +/  /g'; }
mkdir -p project/.git project/sub
cd project/sub || exit
here() { sed "s|${PWD%/sub}|PROJECT|"; }
joulemap report 2>&1 | here
joulemap runs | here
joulemap run sh -c 'echo "$@"; sleep 0.5' sh --help -o file 2>../../first
joulemap run -- sh -c 'echo "$@"; sleep 0.5' sh --help -o file 2>../../second
joulemap run false 2>/dev/null
echo "exit code $?"
sed -n 's/^\(sh *\)[0-9.]* ±.* (simulated GPU)$/\1/p; /^quality\|^more/p' ../../first
grep -c '^before ' ../../second
joulemap runs | here | shape
joulemap report | head -n 1
cat ../.joulemap/.gitignore
find .. -name '*.joulemap' -type f | wc -l
