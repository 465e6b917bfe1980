joulemap hepl
