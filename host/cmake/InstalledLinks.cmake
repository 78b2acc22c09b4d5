# cmake -D FOLDER=<folder> -P InstalledLinks.cmake
# Pages also link to sources. Replaces each link to a file that is not in the folder by its text.
file(GLOB_RECURSE pages ${FOLDER}/*.md)
foreach(page IN LISTS pages)
  file(READ ${page} text)
  set(before "${text}")
  get_filename_component(page_folder ${page} DIRECTORY)
  # the CHANGELOG is installed next to the README
  string(REPLACE "](.github/CHANGELOG.md" "](CHANGELOG.md" text "${text}")
  # without brackets, which CMake's lists cannot contain
  string(REGEX MATCHALL "[(][^][(); \n]+[)]" targets "${text}")
  list(REMOVE_DUPLICATES targets)
  foreach(target IN LISTS targets)
    string(REGEX REPLACE "^[(]([^#]*).*[)]$" "\\1" path "${target}")
    string(REGEX REPLACE "[)]$" "" path "${path}")
    string(FIND "${text}" "]${target}" found)
    if(found EQUAL -1 OR path STREQUAL "" OR path MATCHES "^[a-z]+:"
      OR EXISTS "${page_folder}/${path}")
      continue()
    endif()
    string(REGEX REPLACE "([.+*?^$()])" "[\\1]" pattern "${target}")
    string(REGEX REPLACE "\\[([^][]*)\\]${pattern}" "\\1" text "${text}")
  endforeach()
  if(NOT text STREQUAL before)
    file(WRITE ${page} "${text}")
  endif()
endforeach()
