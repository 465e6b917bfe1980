# without a verb: help on stderr, wrong usage
joulemap
