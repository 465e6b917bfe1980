# a build folder has no joulemap.pc for others
joulemap --pkgconfigdir
