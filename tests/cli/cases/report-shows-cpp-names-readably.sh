# a linker's name is shown as people write it; its path stays the linker's
cat >kernels.csv <<'CSV'
t_start_s,duration_us,kernel,stream,part
1.0,800000,_ZN2at6native18elementwise_kernelILi128ELi4EfEEvi,0,only
2.0,900000,plain_c_kernel,0,only
CSV
joulemap import --board h200 --readings "$SOURCE_DIR/tests/data/small/readings.csv" --kernels kernels.csv -o k.joulemap || exit
joulemap report k.joulemap --by kernel --json >k.json || exit
python3 - <<'PYTHON'
import json

rows = {row["path"]: row["name"] for row in json.load(open("k.json"))["rows"]}
print(rows["_ZN2at6native18elementwise_kernelILi128ELi4EfEEvi"])
print(rows["plain_c_kernel"])
PYTHON
COLUMNS=70 joulemap report k.joulemap --by kernel | grep -c '^elementwise_kernel<> '
