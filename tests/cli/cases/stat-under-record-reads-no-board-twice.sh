# stat below a recorder takes its figures from that recorder's file
joulemap record --sim h200 -o r.joulemap -- joulemap stat -- sleep 1.5
