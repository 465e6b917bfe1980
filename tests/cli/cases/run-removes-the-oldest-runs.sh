# A hundred at the most: the oldest go, with what lies beside them; one that is being written stays.
export JOULEMAP_SIM=h200
mkdir .joulemap
for i in $(seq -w 1 120); do echo >".joulemap/20200101-000000.$i-1.joulemap"; done
touch .joulemap/20200101-000000.001-1.joulemap-wal .joulemap/20200101-000000.002-1.joulemap.truth.csv
joulemap run true 2>/dev/null
ls .joulemap/*.joulemap | wc -l
ls .joulemap | grep -c truth
ls .joulemap | grep '\.00[12]-1'
joulemap runs | sed -n '2s/^.* //p;3p;$p' | sed "s|$PWD|HERE|; s/^[0-9-]* [0-9:]*/WHEN/"
