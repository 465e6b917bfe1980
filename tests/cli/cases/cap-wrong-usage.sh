printf 'cap_w,time_s,power_w\n300,8,200\n250,9,180\n' >good.csv
export JOULEMAP_SIM=h200,a100 XDG_RUNTIME_DIR=$PWD
for options in '' 'shwo' 'show me' 'show -- true' 'set' 'set x' 'set 400' 'set -- true' 'set 400 500 --board 0' 'set 400 --board 7' \
    'set 400 --board 0 --for 10' 'set 400 --board 0 --for 0s' 'set 400 --board 0 --for 400000h' 'set 400 --board 0 --clock x' \
    'set 400 --board 0 --' 'set 401 --board 1' 'set 99 --board GPU-1' 'reset 0' 'restore 0' 'search' 'search good.csv' 'search --replay' 'search --replay good.csv --objective joules' \
    'search --replay good.csv --probes 0' 'search --replay good.csv --probes 65' 'search --replay none.csv'; do
    joulemap cap $options
    echo $?
done
for share in 0 0% -5% 5 nan 5%% 1e-2 x '' 2000%; do
    joulemap cap search --replay good.csv --max-slowdown="$share"
    echo $?
done
printf 'cap_w,power_w\n300,200\n' >column.csv
printf 'cap_w,time_s,power_w\n' >empty.csv
printf 'cap_w,time_s,power_w\n300,8,200\n250,eight,180\n' >word.csv
printf 'cap_w,time_s,power_w\n300,8,200\n\n250,9,0\n' >zero.csv
printf 'cap_w,time_s,power_w\n300,8\n' >short.csv
{ echo cap_w,time_s,power_w; seq 1 513 | sed 's/$/,1,1/'; } >many.csv
for name in column empty word zero short many; do
    joulemap cap search --replay $name.csv
    echo $?
done
