# words.awk: snippets of 4 lines as hashed bags of words in svmlight format: KIND WORD:COUNT ... The
# kinds: 0 C++, 1 CMake, 2 Markdown. Every fourth snippet of a kind goes to test.svm, the others to
# train.svm. A word's number is its hash, from 1 to 65536.
function kind_of(name) { return name ~ /\.md$/ ? 2 : name ~ /(CMakeLists\.txt|\.cmake)$/ ? 1 : 0 }

function number_of(word, i, hash) {
  hash = 7
  for (i = 1; i <= length(word); ++i) hash = (hash * 31 + code[substr(word, i, 1)]) % 65536
  return hash + 1
}

function flush(n, i, j, key, line) {
  for (key in count) {
    for (i = n++; i > 0 && sorted[i - 1] > key + 0; --i) sorted[i] = sorted[i - 1]
    sorted[i] = key + 0
  }
  # nearly all files are C++; taking every sixtieth of their snippets balances the kinds
  if (n > 0 && (kind != 0 || snippets++ % 60 == 0)) {
    line = kind
    for (j = 0; j < n; ++j) line = line " " sorted[j] ":" count[sorted[j]]
    print line > (kept[kind]++ % 4 == 3 ? "test.svm" : "train.svm")
  }
  for (key in count) delete count[key]
}

BEGIN { for (i = 1; i < 256; ++i) code[sprintf("%c", i)] = i }
FNR == 1 { flush(); kind = kind_of(FILENAME) }
FNR % 4 == 1 && FNR > 1 { flush() }
{
  gsub(/[A-Za-z_]+/, " & ")
  gsub(/[0-9]+/, " 0 ")
  for (i = 1; i <= NF; ++i) ++count[number_of($i)]
}
END { flush() }
