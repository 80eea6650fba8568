# The plug-in of docs/analyzers.md, built from that page's very text against an installed prefix, answers what python3 finds in a dump; plug-ins that are none,
# or of another version, or that crash, are named in one sentence.
. "$(dirname "$0")/../lib.sh"
need_command pkg-config python3
make -s -C "$ROOT" BUILD="$BUILD" install PREFIX="$TMP/prefix" >make.out 2>&1 || fail "make install: $(tail -n 3 make.out)"
export PKG_CONFIG_PATH=$TMP/prefix/lib/pkgconfig PATH=$TMP/prefix/bin:$PATH
TW=$TMP/prefix/bin/trackway
block() { # block LANGUAGE: the page's first block of it
	awk -v start='```'"$1" '$0 == "```" { if (on) exit } on { print } $0 == start { on = 1 }' "$ROOT/docs/analyzers.md"
}
asan && skip "a plug-in built without the sanitizer does not go with a tool that has it"
block c >bytes-written.c
block sh >commands
[ -s bytes-written.c ] && [ -s commands ] || fail "the page has no code"
cc() { command $CC -Wall -Wextra -Werror "$@"; }
. ./commands >page.out 2>page.err || fail "the page's commands: $(cat page.err)"
grep -v '^trackway: ' page.err | grep . && fail "the page's commands complain"
[ "$(awk '{ if (length > m) m = length } END { print m }' page.out)" -le 80 ] || fail "the answer is wider than 80 columns"
"$TW" analyze ./bytes-written.so --least 8 --json true.tw >found.json || fail "the plug-in fails"
"$TW" dump --refs true.tw >refs
python3 - <<'END' || fail "the plug-in's answer is not what the dump says"
import json
bytes = {}
for line in open("refs"):
    thread, pc, kind, addr, size = line.split()
    if kind in "WM" and int(size) >= 8:
        bytes[int(thread)] = bytes.get(int(thread), 0) + int(size)
found = {row["thread"]: row["bytes"] for row in json.load(open("found.json"))["threads"]}
assert found == bytes and found, (found, bytes)
END

# A program of its own, linked with the library.
cat >reader.c <<'END'
#include <inttypes.h>
#include <trackway/recording.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	struct tw_recording *r;
	if (argc != 2 || tw_recording_open(argv[1], &r))
		return 1;
	printf("%" PRIu64 "\n", tw_recording_totals(r)->insns);
	tw_recording_close(r);
	return 0;
}
END
cc -o reader reader.c $(pkg-config --cflags --libs trackway) || fail "a program does not link with the library"
[ "$(LD_LIBRARY_PATH=$TMP/prefix/lib ./reader true.tw)" = "$(info_value instructions true.tw)" ] || fail "the library reads another number of instructions"

# What is no plug-in.
plugin() { # plugin NAME TEXT: bytes-written with TEXT in front
	{ echo "$2"; cat bytes-written.c; } >"$1.c"
	cc -Wno-unused-function -shared -fPIC $(pkg-config --cflags trackway) -o "$1.so" "$1.c" || fail "$1.c does not compile"
}
one_sentence "$TW" analyze ./none.so true.tw
says 'none\.so.*does not load'
echo text >text.so
one_sentence "$TW" analyze ./text.so true.tw
says 'text\.so.*does not load'
echo 'int nothing;' >empty.c && cc -shared -fPIC -o empty.so empty.c
one_sentence "$TW" analyze ./empty.so true.tw
says 'empty\.so.*exports no tw_plugin'
echo '#include <trackway/analyzer.h>
const struct tw_plugin tw_plugin = {TW_PLUGIN_VERSION + 1, sizeof(struct tw_analyzer), 0};' >version.c
cc -shared -fPIC $(pkg-config --cflags trackway) -o version.so version.c
one_sentence "$TW" analyze ./version.so true.tw
says 'version\.so.*built for version'
echo '#include <trackway/analyzer.h>
const struct tw_plugin tw_plugin = {TW_PLUGIN_VERSION, sizeof(struct tw_analyzer), 0};' >lacks.c
cc -shared -fPIC $(pkg-config --cflags trackway) -o lacks.so lacks.c
one_sentence "$TW" analyze ./lacks.so true.tw
says 'lacks\.so.*table lacks'
sed 's/s->bytes\[b->thread\] += .*/*(volatile int *)16 = 1;/' bytes-written.c >crash.c
cc -shared -fPIC $(pkg-config --cflags trackway) -o crash.so crash.c
one_sentence "$TW" analyze ./crash.so -j1 true.tw
says 'crash\.so: it crashed: SIGSEGV'
one_sentence "$TW" analyze ./crash.so -j4 true.tw
says 'crash\.so: it crashed: SIGSEGV'
sed 's/s->bytes\[b->thread\] += .*/exit(0);/' bytes-written.c >exits.c
cc -shared -fPIC $(pkg-config --cflags trackway) -o exits.so exits.c
one_sentence "$TW" analyze ./exits.so -j1 true.tw
says 'exits\.so: it ended the process with exit.0.'
"$TW" record -q --with ./exits.so -- sh -c 'exit 3' >out 2>err
[ $? = 3 ] && grep -q 'exits\.so: it ended the process with exit(0)' err || fail "a plug-in that exits while the program runs: $(cat err)"
# ... or so that nothing can be done about it.
sed 's/exit(0);/_Exit(0);/' exits.c >leaves.c
cc -shared -fPIC $(pkg-config --cflags trackway) -o leaves.so leaves.c
"$TW" record -q --with ./leaves.so -- sh -c 'exit 3' >out 2>err
[ $? = 3 ] && grep -q "an analyzer ended the analyzers' process with status 0: there are no answers" err || fail "a plug-in that ends its process: $(cat err)"
{ echo 'static int deep(int n) { volatile char room[1000]; room[0] = (char)n; return n < 0 ? 0 : deep(n + 1) + room[0]; }' && sed 's/s->bytes\[b->thread\] += .*/s->bytes[0] += (unsigned)deep(1);/' bytes-written.c; } >deep.c
cc -O0 -shared -fPIC $(pkg-config --cflags trackway) -o deep.so deep.c
"$TW" record -q --with ./deep.so -- sh -c 'exit 3' >out 2>err
[ $? = 3 ] && grep -q 'deep\.so: it crashed: SIGSEGV' err || fail "a plug-in whose stack runs out is not named: $(cat err)"
sed 's/b->thread >= THREADS/b->thread + 1/' bytes-written.c >wrong.c
cc -shared -fPIC $(pkg-config --cflags trackway) -o wrong.so wrong.c
one_sentence "$TW" analyze ./wrong.so true.tw
says 'wrong\.so: more than 1024 threads'
