# with SIGPIPE at its default and ignored: no words, and the shell's own code for it
(sleep 0.2; joulemap help --man; echo $? >code) | true
(trap '' PIPE; sleep 0.2; joulemap help --man; echo $? >ignored) | true
cat code ignored
