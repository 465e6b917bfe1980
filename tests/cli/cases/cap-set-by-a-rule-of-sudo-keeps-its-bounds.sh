# The rule of docs/caps.md, in a mount namespace of its own: what an ordinary user may do by it, and what not.
for tool in sudo visudo setpriv; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 125; }
done
if [ "$(id -u)" != 0 ] || ! id nobody >/dev/null || ! unshare -m true 2>/dev/null; then
    echo "skipped: needs root and namespaces"
    exit 125
fi
helper=$(realpath "$BUILD_DIR")/joulemap-cap
case $helper in *[\ :,=\\]*) echo "skipped: $helper would have to be written otherwise in a rule"; exit 125 ;; esac
if ! setpriv --reuid=nobody --regid=nogroup --clear-groups test -x "$helper"; then
    echo "skipped: others may not read the build folder"
    exit 125
fi
chmod 755 .. . && mkdir run && chown nobody run && chmod 700 run
cat >rule <<RULE
nobody ALL=(root) NOPASSWD: $helper serve --within 300\:600 --board 0
Defaults!$helper env_keep += "JOULEMAP_SIM XDG_RUNTIME_DIR JOULEMAP_CAPS_DIR"
RULE
visudo -q -c -f rule || exit 1
cat >tried <<'TRIED'
mount -t tmpfs -o mode=755 tmpfs /etc/sudoers.d && cp rule /etc/sudoers.d/joulemap && chmod 440 /etc/sudoers.d/joulemap
export JOULEMAP_SIM=h200,a100 XDG_RUNTIME_DIR=$PWD/run HELPER=$1
rule="sudo -n $1 serve --within 300:600 --board 0"
as_user() { env JOULEMAP_CAP="$rule" setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; echo "$?"; }
as_user joulemap cap show
as_user joulemap cap set 400 --board 0 -- sh -c 'echo as $(id -u)'
as_user joulemap cap set 250 --board 0 -- true
as_user joulemap cap set 200 --board 1 -- true
as_user joulemap cap set 450 --board 0 --for 1h
as_user joulemap cap reset
as_user joulemap cap set 450 --board 0 --clock 1000 -- true
rule="sudo -n $1 serve --within 100:900"
as_user joulemap cap set 250 --board 0 -- true
TRIED
unshare -m bash ./tried "$helper" 2>&1 | sed "s,$helper,HELPER,"
