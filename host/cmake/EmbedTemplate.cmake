# cmake -D OUTPUT=<header> -D FOLDER=<folder> -P EmbedTemplate.cmake
# Writes every file of the folder and of its subfolders (one for each kind of project) into a C++
# header. `tenon new` replaces NAME in file names, and @NAME@ and @CLASS@ in texts.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/* ${FOLDER}/*/*)
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  if(NOT IS_DIRECTORY ${FOLDER}/${file})
    file(READ ${FOLDER}/${file} text)
    get_filename_component(kind "${file}" DIRECTORY)
    get_filename_component(name "${file}" NAME)
    string(APPEND entries "    {\"${kind}\", \"${name}\", R\"tenon(${text})tenon\"},\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "// Made from sdk/template.
#pragma once
#include <string_view>

namespace tenon {

struct TemplateFile {
  std::string_view kind;  ///< empty: of all kinds that have no file of this name
  std::string_view name, text;
};

inline constexpr TemplateFile template_files[] = {
${entries}};

}  // namespace tenon
")
