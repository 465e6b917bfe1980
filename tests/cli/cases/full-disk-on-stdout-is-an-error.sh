# what could not be written is said, with the exit code of a failed output
joulemap help >/dev/full
