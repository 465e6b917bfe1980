# A small recording with known truth: small.joulemap, from tests/data/small (see make.py there).
small=$SOURCE_DIR/tests/data/small
joulemap import --board h200 --readings "$small/readings.csv" --segments "$small/segments.csv" -o small.joulemap || exit
