# a value may stand in the next word or after "=", options after "--" are operands
joulemap help --completion bash >a && joulemap help --completion=bash >b && cmp a b &&
    joulemap help -- help >c && joulemap help help >d && cmp c d
