# Lua: computed goto, setjmp and longjmp for errors; a script that goes through its libraries (the source comes without tests).
. "$(dirname "$0")/lib.sh"
PACKAGE=lua5.4
SCRIPT=$(dirname "$(realpath "$0")")/lua.lua
export SCRIPT
build() { make -C src -j2 CC="$CC -std=gnu99" linux; }
own_tests() { src/lua "$SCRIPT" 2>&1 && src/luac -l -p "$SCRIPT" | sed "s/0x[0-9a-f]*//g" | cksum; }
WORK=(src/lua -e "for i = 1, 12 do dofile('$SCRIPT') end")
compare "$@"
