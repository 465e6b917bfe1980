# Turn files into one C array: cmake -DOUTPUT=x.c -DTABLE=jm__name "-DFILES=a.json;b.json" -P embed.cmake
set(body "")
set(table "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND body "static const char text_${name}[] = {${bytes}};\n")
  string(APPEND table "    {\"${name}\", text_${name}, sizeof text_${name}},\n")
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake: do not edit. */
#include \"base/embedded.h\"

${body}
extern const jm__embedded ${TABLE}[];
const jm__embedded ${TABLE}[] = {
${table}    {0, 0, 0},
};
")
