export JOULEMAP_SIM=h200,a100 XDG_RUNTIME_DIR=$PWD
times() { sed -E 's/held for [0-9]+ s/held for N s/; s/, [0-9]+ (min|s)( [0-9]+ s)? left/, T left/; s/pid [0-9]+/pid N/; s/user [0-9]+/user N/'; }
joulemap cap show
joulemap cap set 450W --board 0 -- sh -c 'joulemap cap show; joulemap cap set 500 --board 0; exit 7' 2>&1 | times
echo "${PIPESTATUS[0]}"
joulemap cap set 300 --board 1 --for 10m --clock 1200MHz
joulemap cap show --board 1 | times
joulemap cap show --board 1 --json | sed -E '/uid|since|until/d'
joulemap cap reset 2>&1 | times
joulemap cap show
joulemap cap reset
joulemap cap reset --board 0
joulemap cap restore
joulemap cap set 400 --board 0 -- ./none
echo $?
# root is told otherwise than others
as_root() { if [ "$(id -u)" = 0 ]; then cat; else sed 's|^  run it as root, or with a sudo rule .*$|  root may not set it here either: the container needs that permission from its host|'; fi; }
JOULEMAP_SIM_FAULTS='nvmlDeviceSetPowerManagementLimit=NO_PERMISSION' joulemap cap set 400 --board 0 2>&1 | as_root >&2
echo "${PIPESTATUS[0]}"
JOULEMAP_SIM_FAULTS='nvmlDeviceSetGpuLockedClocks=NOT_SUPPORTED' joulemap cap set 400 --board 0 --clock 1200
echo $?
JOULEMAP_SIM_FAULTS='missing:nvmlDeviceSetPowerManagementLimit' joulemap cap set 400 --board 0
echo $?
joulemap cap show
JOULEMAP_SIM_FAULTS='missing:nvmlDeviceGetPowerManagementLimitConstraints' joulemap cap show --board 1
ls "$JOULEMAP_CAPS_DIR" | sed 's/.*\.//'
