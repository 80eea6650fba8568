# gcc's cc1 -O2 on a large real C file: all of xxHash, preprocessed; in CI its smallest part, with -O1.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
cc1=$(gcc -print-prog-name=cc1)
[ -x "$cc1" ] || skip "no cc1 here"
echo '#include <xxhash.h>' >file.c
# shellcheck disable=SC2046
gcc -E -P -DXXH_STATIC_LINKING_ONLY -DXXH_IMPLEMENTATION $(full '' '-DXXH_NO_XXH3 -DXXH_NO_LONG_LONG') file.c -o file.i || fail "cannot preprocess xxhash.h"
whole "$cc1" -quiet "$(full -O2 -O1)" -fpreprocessed file.i -o -
