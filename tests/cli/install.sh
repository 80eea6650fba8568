# make install: everything in its place, and it works from there.
. "$(dirname "$0")/../lib.sh"
make -s -C "$ROOT" BUILD="$BUILD" install DESTDIR="$TMP/root" PREFIX=/usr >make.out 2>&1 || {
	tail -n 5 make.out
	fail "make install"
}
for f in bin/trackway lib/trackway/trackway-engine include/trackway/recording.h share/man/man1/trackway.1 share/man/man1/trackway-record.1 share/man/man5/trackway-recording.5 \
	share/bash-completion/completions/trackway share/zsh/site-functions/_trackway share/fish/vendor_completions.d/trackway.fish; do
	[ -f "root/usr/$f" ] || fail "$f is not installed"
done
mv root elsewhere
TW=$TMP/elsewhere/usr/bin/trackway
"$TW" record -q -o r.tw -- true || fail "the installed trackway does not record"
"$TW" check r.tw >/dev/null || fail "the installed trackway does not check"
