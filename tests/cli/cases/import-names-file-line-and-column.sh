printf 'sensor,t_s,value\npower_ring_w,0.02,80\npower_ring_w,0.04,eighty\n' > bad.csv
joulemap import --board h200 --readings bad.csv -o out.joulemap
code=$?
test ! -e out.joulemap || echo "a half-made file is left"
joulemap import -o out.joulemap
exit $code
