# the screen at two sizes, with 16 GPUs, a lost one and none; figures are replaced by #, bars by one sign
command -v tmux >/dev/null || { echo "skipped: no tmux"; exit 125; }
[ -x "$BUILD_DIR/joulemap-top" ] || { echo "skipped: built without ncurses"; exit 125; }
export JOULEMAP_SIM_SCRIPT=$PWD/power.csv LC_ALL=C.UTF-8
printf 't_start_s,t_end_s,power_w\n0,3600,130\n' >power.csv
mux() { tmux -L "top-$$" -f /dev/null "$@"; }

shows() { # all lines together match, and the screen is not being drawn
    for _ in $(seq 200); do
        mux capture-pane -p >screen.txt
        sleep 0.1
        mux capture-pane -p | cmp -s - screen.txt && tr '\n' ' ' <screen.txt | grep -qE "$1" && return
    done
    echo "never shown: $1"
}

screen() { # NAME SIZE BOARDS WHAT-IT-COMES-TO-SHOW [KEYS]
    echo "# $1"
    local columns=${2%x*} until=$4
    mux new-session -d -x "$columns" -y "${2#*x}" "env JOULEMAP_SIM=$3 TERM=screen joulemap top; echo code \$?; cat"
    shows ' in [2-9][0-9]* s .*█.*F10Quit'
    shift 4
    [ $# = 0 ] || mux send-keys "$@"
    shows "$until"
    mux kill-server
    sed -i 's/[▁▂▃▄▅▆▇█]/=/g' screen.txt
    awk -v most="$columns" 'length > most { print "too wide: " $0 }' screen.txt
    sed -E "s/$(uname -n)/HOST/; s/=+/=/g; s/\|+/|/g; s/[0-9]+(\.[0-9]+)?/#/g; s/k?J in/J in/; s/ +/ /g; s/ $//" screen.txt |
        uniq | sed '/^$/d'
}

sixteen=$(printf 'h200%.0s,' $(seq 15))h200
screen "one GPU" 80x24 h200 Quit
JOULEMAP_SIM_FAULTS=lost@1s#1 screen "the second of two is lost, in the chart" 80x24 h200,a100 'lost: .*power of NVIDIA A100' + +
screen "16 GPUs" 200x50 "$sixteen" Quit
screen "16 GPUs in little room" 80x24 "$sixteen" Quit
screen "a filter" 80x24 h200 'nothing matches .*F10Quit' F4 n o n e Enter
JOULEMAP_SIM=h200 joulemap record -o seen-by-top.joulemap sleep 60 >record.txt 2>&1 &
for _ in $(seq 300); do [ -s seen-by-top.joulemap ] && break; sleep 0.1; done
screen "a recording in progress, among those of others" 80x24 h200 'seen-by-top.*F10Quit' Tab F4 b y Enter
kill $!
screen "help" 80x24 h200 'Ctrl-C' F1
screen "quit" 80x24 h200 'code 0' q
joulemap top </dev/null 2>&1 | sed 's/ (see.*//'
