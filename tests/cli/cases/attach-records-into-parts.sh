# attach has the options of a recording in parts, and says where it is
sleep 20 &
joulemap attach --sim h200 -o r.joulemap --rotate 1h --keep-files 2 --seconds 1 $! 2>&1 | sed -n '$s/.*; next/next/p'
kill $!
ls
