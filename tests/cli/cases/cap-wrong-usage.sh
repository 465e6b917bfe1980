printf 'cap_w,time_s,power_w\n300,8,200\n250,9,180\n' >good.csv
for options in '' 'show' 'search' 'search good.csv' 'search --replay' 'search --replay good.csv --objective joules' \
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
printf 'cap_w,time_s,power_w\n300,8,200\n250,9,180\n300,8,200\n' >twice.csv
printf 'cap_w,time_s,power_w\n300,8\n' >short.csv
{ echo cap_w,time_s,power_w; seq 1 513 | sed 's/$/,1,1/'; } >many.csv
for name in column empty word zero twice short many; do
    joulemap cap search --replay $name.csv
    echo $?
done
