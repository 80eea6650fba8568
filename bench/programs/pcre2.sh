# PCRE2 without its just-in-time compiler: the tests of pcre2test in its three widths, and of pcre2grep.
. "$(dirname "$0")/lib.sh"
PACKAGE=pcre2
build() { ./configure --enable-pcre2-16 --enable-pcre2-32 --disable-shared && make -j2; }
own_tests() { ./RunTest 2>&1 && ./RunGrepTest 2>&1; }
WORK=(./pcre2test -q testdata/testinput2 /dev/null)
compare "$@"
