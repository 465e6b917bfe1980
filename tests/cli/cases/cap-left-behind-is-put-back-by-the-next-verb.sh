export JOULEMAP_SIM=h200,h200 XDG_RUNTIME_DIR=$PWD
numbers() { sed -E 's/pid [0-9]+/pid N/; s/user [0-9]+/user N/'; }
cap() { joulemap cap show --board 0 --json | grep -E '"(cap_w|lost)"'; }
# A second board's lease keeps the boards open: what is set on a board that nobody has open is lost.
joulemap cap set 350 --board 1 --for 10m 2>/dev/null
until_dead() {
    for process; do
        while grep -qs '^State:.[^ZX]' "/proc/$process/status"; do sleep 0.01; done
    done
}
# Program, helper and its guard killed at once, as by a power cut.
lose() {
    joulemap cap set 300 --board 0 -- sleep 1000 2>/dev/null &
    program=$!
    disown $program # the shell is not to tell of its end
    until cap | grep -q 300; do sleep 0.02; done
    state=$(grep -l '"cap_w": 300' "$JOULEMAP_CAPS_DIR"/*.json)
    helper=$(sed -n 's/ "helper_pid": \([0-9]*\),/\1/p' "$state")
    until guard=$(cat "/proc/$helper/task/$helper/children") && [ -n "$guard" ]; do sleep 0.02; done
    command=$(tr ' ' '\n' <"/proc/$program/task/$program/children" | grep -v "^$helper\$" | tr '\n' ' ')
    kill -STOP "$helper"
    kill -9 $guard $helper $program $command
    until_dead "$helper" "$guard" $program
}
lose
# A look at a recording looks at no GPU.
joulemap report none.joulemap
for verb in "list" "doctor" "stat -- true" "record -o r.joulemap -f -- true" "calibrate --from none.joulemap" "cap show" "cap restore"; do
    echo "== $verb"
    [ "$verb" = list ] || lose
    joulemap $verb 2>&1 >out | grep "put GPU" | numbers
    cap
    [ ! -e "$state" ] || echo "state is left"
done
# The program alone.
joulemap cap set 300 --board 0 -- sleep 1000 2>/dev/null &
program=$!
disown $program
until cap | grep -q 300; do sleep 0.02; done
children=$(cat /proc/$program/task/$program/children)
kill -9 $program
until_dead $program
until cap | grep -q 700; do sleep 0.02; done
kill $children
lose
JOULEMAP_SIM_FAULTS='nvmlDeviceSetPowerManagementLimit=NO_PERMISSION' joulemap list 2>&1 >out | grep GPU | sed "s,; .*,," | numbers
echo '{}' >"$state"
joulemap cap restore 2>&1 | sed -E 's/GPU-[0-9a-f-]*/UUID/g; s|/.*/caps|CAPS|'
echo "${PIPESTATUS[0]}"
joulemap cap show --board 0 2>/dev/null
rm "$state"
joulemap cap reset 2>/dev/null
