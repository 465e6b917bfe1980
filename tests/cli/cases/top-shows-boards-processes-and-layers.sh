# the screen at two sizes, with 16 GPUs, a lost one and none; figures are replaced by #, bars by one sign
command -v tmux >/dev/null || { echo "skipped: no tmux"; exit 125; }
[ -x "$BUILD_DIR/joulemap-top" ] || { echo "skipped: built without ncurses"; exit 125; }
export JOULEMAP_SIM_SCRIPT=$PWD/power.csv LC_ALL=C.UTF-8
printf 't_start_s,t_end_s,power_w\n0,3600,130\n' >power.csv

screen() { # NAME SIZE BOARDS [KEYS]
    echo "# $1"
    tmux -L "top-$$" -f /dev/null new-session -d -x "${2%x*}" -y "${2#*x}" \
        "env JOULEMAP_SIM=$3 TERM=screen joulemap top; echo code \$?; cat"
    shift 3
    for key in READY "$@" SEEN; do
        case $key in
        READY) for i in $(seq 100); do tmux -L "top-$$" capture-pane -p | grep -qE ' in [1-9][0-9]* s ' && break; sleep 0.1; done ;;
        SEEN) sleep 0.7 ;; # a key is obeyed at once, and drawn
        *) tmux -L "top-$$" send-keys "$key"; sleep 0.7 ;;
        esac
    done
    tmux -L "top-$$" capture-pane -p >screen.txt
    tmux -L "top-$$" kill-server
    sed -i 's/[▁▂▃▄▅▆▇█]/=/g' screen.txt
    awk -v most="${size:-80}" 'length > most { print "too wide: " $0 }' screen.txt
    sed -E "s/$(uname -n)/HOST/; s/=+/=/g; s/\|+/|/g; s/[0-9]+(\.[0-9]+)?/#/g; s/k?J in/J in/; s/ +/ /g; s/ $//" screen.txt |
        uniq | sed '/^$/d'
}

screen "one GPU" 80x24 h200
JOULEMAP_SIM_FAULTS=lost@1s#1 screen "the second of two is lost, in the chart" 80x24 h200,a100 + +
size=200 screen "16 GPUs" 200x50 "$(printf 'h200%.0s,' $(seq 15))h200"
screen "16 GPUs in little room" 80x24 "$(printf 'h200%.0s,' $(seq 15))h200"
screen "a filter" 80x24 h200 F4 n o n e Enter
JOULEMAP_SIM=h200 joulemap record -o seen-by-top.joulemap sleep 20 >record.txt 2>&1 &
for i in $(seq 100); do [ -s seen-by-top.joulemap ] && break; sleep 0.1; done
sleep 1
screen "a recording in progress, among those of others" 80x24 h200 Tab F4 b y Enter
kill $!
screen "help" 80x24 h200 F1
screen "quit" 80x24 h200 q
joulemap top </dev/null 2>&1 | sed 's/ (see.*//'
