# what counters of Nsight Compute say of kernels, and a model learnt from them
. "$SOURCE_DIR/tests/cli/figures.sh"
ncu=$SOURCE_DIR/tests/data/ncu
json estimate --csv "$ncu/stencil.csv.gz" --model h200 | sed 5,14d
told estimate --csv "$ncu/gpt.csv.gz" --model h100 --board h100-pcie --program 2 --limit 10
told estimate --csv "$ncu/suite.csv.gz" --model h200 --format csv --clock 1500 | cut -d, -f1-8
told estimate --csv "$ncu/form-details.csv.gz" --model "$ncu/model.json" --format features
# counters that were not taken: what is made of them, and which are named
gzip -dc "$ncu/form-details-all.csv.gz" | grep -v -e 'L2 Cache Throughput' -e 'hmma' -e 'l1tex__' -e 'lts__' >some.csv
told estimate --csv some.csv --model h200
# a model of one's own, of few kernels and of too few
awk 'BEGIN {
    print "kernel,family,duration_s,tensor,memory,twin,same,power_w"
    for (i = 0; i < 14; i++) {
        tensor = (i * 37 % 41) / 41; memory = (i * i * 29 % 43) / 43
        noise = (i * 17 % 13 - 6) * 0.7
        printf "k%d,f%d,0.00%d,%.6f,%.6f,%.6f,0.5,%.4f\n", i, i % 7, 1 + i % 9, tensor, 1e9 * memory, 3 * tensor, 90 + 200 * tensor + 60 * memory + noise
    }
}' >features.csv
told estimate --train features.csv -o own.json
json estimate --csv features.csv --model own.json | sed 9,14d
head -5 features.csv >little.csv
told estimate --train little.csv
