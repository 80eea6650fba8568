# Scripts are run by their interpreters, with the arguments that the kernel would pass.
. "$(dirname "$0")/../lib.sh"
printf '#!/bin/sh\necho "$0" "$#" "$@"\nexit 9\n' >plain && chmod +x plain
whole ./plain a 'b c'
printf '#! /bin/sh -e  \nfalse\necho not here\n' >option && chmod +x option
whole ./option
printf '#!/usr/bin/env -S perl -w\nprint "$0 @ARGV $^W\\n";\n' >env && chmod +x env
whole ./env x y
printf '#!./plain one two\n' >nested && chmod +x nested
whole ./nested three
# What the kernel does not know how to run is left to the shell, as execvp does it.
printf 'echo "$#" "$@"\nexit 7\n' >bare && chmod +x bare
whole ./bare a 'b c'
mkdir bin && cp plain bin/in_path
PATH=$PWD/bin:$PATH
whole in_path z
"$TW" record -q -- in_path >/dev/null
[ -d in_path.tw ] || fail "the recording of in_path is not in in_path.tw"
