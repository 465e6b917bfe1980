# a share of the program's time: some, and no more than all of it
for wrong in 0 0% 101% 1 1.5 -1% much 1%% 1,5%; do
    joulemap record --sim h200 --budget "$wrong" -o r.joulemap -- true
    echo "$?"
done
