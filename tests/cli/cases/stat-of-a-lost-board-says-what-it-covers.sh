# energy up to where the board was lost, and no joule more; of the notes only what matters;
# which sensor the total comes from depends on whether the counter moved once more before the end
JOULEMAP_SIM_FAULTS='lost@+2s' joulemap stat --no-cpu --sim h200 -- sleep 3
