# cmake -D OUTPUT=<header> -D FOLDER=<folder> -P EmbedTemplate.cmake
# Writes every file of the folder into a C++ header. In file names NAME, in texts @NAME@ and @CLASS@ are for `tenon new` to replace.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} text)
  string(APPEND entries "    {\"${file}\", R\"tenon(${text})tenon\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from sdk/template.
#pragma once
#include <string_view>

namespace tenon {

struct TemplateFile {
  std::string_view path, text;
};

inline constexpr TemplateFile template_files[] = {
${entries}};

}  // namespace tenon
")
