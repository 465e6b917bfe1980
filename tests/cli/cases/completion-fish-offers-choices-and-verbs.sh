# choices of an option, files, verbs of help, and what each is for
joulemap help --completion fish >script || exit
grep -F "__fish_seen_subcommand_from report' -l by " script
grep -F "__fish_seen_subcommand_from report' -l prior " script
grep -F -- "-a export " script
grep -F "__fish_seen_subcommand_from help' -f" script
