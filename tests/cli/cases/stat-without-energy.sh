# no sensor tells the energy: times, their outliers and what they mean, and nothing of energy
export JOULEMAP_SIM_FAULTS='missing:nvmlDeviceGetSamples;missing:nvmlDeviceGetTotalEnergyConsumption;missing:nvmlDeviceGetFieldValues;missing:nvmlDeviceGetPowerUsage'
cat >program <<'SH'
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
[ $n = 7 ] && sleep 2 || sleep 0.2
SH
joulemap stat --no-cpu --sim h200 -r 8 -- sh program
rm count
joulemap stat --no-cpu --sim h200 -r 8 --json -- sh program >stat.json || exit
python3 -c 'import json
stat = json.load(open("stat.json"))
print(stat["energy_j"], stat["power_w"], stat["time_s"]["mean"] > 0.2, 7 in stat["outliers"])'
! grep -i nan stat.json
