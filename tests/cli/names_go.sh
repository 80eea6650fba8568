# Names of Go programs without symbols: from the table that Go leaves in them. A table made by hand is read without Go; a real program where Go is there.
. "$(dirname "$0")/../lib.sh"
need_command gcc strip

functions() { "$TW" report -n 0 "$1" | sed -n '/^Functions/,$p'; }

# A table of one function, main.work, all of whose code is of two lines of work.go. $1: the magic number; $2: how addresses are written; $3: the word for where code begins.
make_table() {
	cat <<END_S
	.section .gopclntab, "a"
header:	.long $1
	.byte 0, 0, 1, 8
	.quad 1, 1
	$3
	.quad names - header, units - header, files - header, values - header, functions - header
names:	.asciz "main.work"
units:	.long 0
files:	.asciz "/src/work.go"
values:	.byte 2, 100, 0		/* file 0 for 100 bytes */
lines:	.byte 16, 4, 4, 96, 0	/* line 7 for 4 bytes, then line 9 */
functions:
	$2
	.section .text
	.globl work
	.type work, @function
work:	xor %eax, %eax
	nop
	nop
1:	add \$1, %eax
	cmp \$1000, %eax
	jl 1b
	ret
	.skip 100 - (. - work), 0x90
work_end:
END_S
}
cat >main.c <<'END_C'
extern int work(void);
int main(void)
{
	return work() != 1000;
}
END_C
tried() { # tried NAME
	gcc -no-pie -o "$1" main.c "$1.S" || fail "$1: gcc"
	strip -s "$1"
	"$TW" record -q -o "$1.tw" "./$1" || fail "$1: record"
	functions "$1.tw" | grep -q 'main\.work work\.go:7$' || fail "$1: no name: $(functions "$1.tw" | head -n 4)"
	"$TW" report --lines -n 0 "$1.tw" | grep -q 'main\.work work\.go:9' || fail "$1: no lines"
}
func='.long names - names, 0, 0, 0, values - values, lines - values, 0, 0'
make_table 0xfffffff1 ".long 0, func - functions, 100
func:	.long 0
	$func" '.quad work' >go120.S
tried go120
make_table 0xfffffffa ".quad work, func - functions, work_end
func:	.quad work
	$func" '' >go116.S
tried go116

# What is not as it should be is passed over.
sed 's/functions - header$/0x7fffffffffffffff/' go120.S >bad.S
gcc -no-pie -o bad main.c bad.S || fail "bad: gcc"
strip -s bad
"$TW" record -q -o bad.tw ./bad || fail "bad: record"
functions bad.tw | grep -q 'bad+0x' || fail "bad: $(functions bad.tw | head -n 4)"

command -v go >/dev/null || { untested "a program that Go has made, without go"; exit 0; }
mkdir real && cd real || exit 1
printf 'module real\n' >go.mod
cat >real.go <<'END_GO'
package main

//go:noinline
func count(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i & 3
	}
	return s
}

func main() {
	println(count(300000))
}
END_GO
HOME=$PWD GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local go build -ldflags='-s -w' -o real . >build.out 2>&1 || { untested "a program that Go has made: go build fails here"; exit 0; }
"$TW" record -q -o real.tw ./real 2>/dev/null || fail "real: record"
functions real.tw | grep -q 'main\.count real\.go:4' || fail "real: $(functions real.tw | head -n 4)"
