# The program's %fs is never the engine's: nothing of it looks there, not even for a stack guard, so that it need not be changed for each block that is decoded.
. "$(dirname "$0")/../lib.sh"
need_command objdump

objdump -d --section=.text --section=.zydis "${TW%/*}/trackway-engine" >engine.s || fail "the engine is not disassembled"
grep -q '<ZydisDecoderDecodeInstruction' engine.s || fail "the decoder is not in what is looked at"
grep -E '%fs:0x28' engine.s && fail "there is a stack guard in the program's %fs"

# No system call sets it but those that the program makes itself.
if command -v strace >/dev/null && strace -o trace true; then
	strace -f -e trace=arch_prctl -o trace "$TW" record -q -f none -o none.tw --keep=none -- true || skip "strace does not trace here"
	N=$(grep -c ARCH_SET_FS trace)
	[ "$N" -le 8 ] || fail "%fs is set $N times"
fi
exit 0
