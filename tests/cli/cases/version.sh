# --version prints name and number, nothing else
joulemap --version
