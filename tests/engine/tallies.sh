# With --sink=count programs count what they execute themselves (src/engine/record/tally.h): the totals are those of what is stored, to the last instruction,
# whatever the program does: string instructions and gathers, loops that record a count, signals at any place, faults, changed code, threads,
# processes, and deaths.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'E'
typedef unsigned long u64;
typedef unsigned u32;
static u64 table[4096];
static volatile u64 alarms;

static long call4(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return n;
}
#define call(n, a, b, c) call4((n), (long)(a), (long)(b), (long)(c), 8)
enum { WRITE = 1, MMAP = 9, SIGACTION = 13, ITIMER = 38, GETPID = 39, FORK = 57, EXECVE = 59, EXIT = 60, WAIT4 = 61, KILL = 62, EXIT_GROUP = 231 };

static void end(int status)
{
	call(EXIT_GROUP, status, 0, 0);
}

/* Branches that go this way and that, calls, and values that follow from others. */
static __attribute__((noinline)) u64 mix(u64 *t, u64 x)
{
	if (x & 4)
		return t[x & 511] += x;
	return x & 8 ? t[x & 1023] ^ x : t[512 + (x & 255)]--;
}
static __attribute__((noinline)) u64 work(u64 n)
{
	u64 x = 12345, sum = 0;
	for (u64 i = 0; i < n; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		sum += mix(table, x >> 33);
		if (x >> 63)
			table[1024 + (x >> 54 & 511)] = sum;
	}
	return sum;
}

/* Loops that write no values: some go once, some for long. */
static __attribute__((noinline)) void fill(u32 rounds)
{
	for (u32 r = 0; r < rounds; r++)
		for (u64 i = 0; i < (r & 15 ? r & 63 : 2000); i++)
			((volatile u64 *)table)[i] = i;
}

static __attribute__((noinline)) void strings(u32 rounds)
{
	char *a = (char *)table, *b = a + 8192;
	for (u32 r = 0; r < rounds; r++) {
		void *d = b, *s = a;
		u64 n = r & 7 ? r % 50 : 0;
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
		n = r % 30;
		__asm__ volatile("rep stosq" : "+D"(d), "+c"(n) : "a"(7ul) : "memory");
		d = b + 4000, s = a + 4000, n = r % 20;
		__asm__ volatile("std\n rep movsl\n cld" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
		d = b, n = 100;
		__asm__ volatile("repne scasb" : "+D"(d), "+c"(n) : "a"(7) : "cc", "memory");
		d = b, s = a, n = r % 9;
		__asm__ volatile("cmp %%rax, %%rax\n repe cmpsb" : "+D"(d), "+S"(s), "+c"(n) : : "cc", "memory");
#ifdef __AVX2__
		__asm__ volatile("vmovq %1, %%xmm1\n vpbroadcastd %%xmm1, %%ymm1\n vpsllvd %2, %%ymm1, %%ymm1\n vpxor %%ymm2, %%ymm2, %%ymm2\n"
		                 "vpgatherdd %%ymm1, (%0, %%ymm2, 4), %%ymm3" : : "r"(a), "r"((u64)r * 0x9e3779b9u), "m"(table[0]), "m"(table[1]), "m"(table[2]), "m"(table[3]) : "ymm1", "ymm2", "ymm3", "memory");
#endif
	}
}

/* ---- signals ---- */

struct action { void (*handler)(int, void *, void *); u64 flags; void (*restorer)(void); u64 mask; };
__asm__("restore: mov $15, %eax\n syscall");
extern void restore(void);
static void handle(int signo, void (*f)(int, void *, void *))
{
	struct action a = {f, 0x04000000 | 4, restore, 0};
	call(SIGACTION, signo, &a, 0);
}
static void on_alarm(int s, void *i, void *c)
{
	(void)s, (void)i, (void)c;
	alarms++;
}
/* Steps over the instruction: a load with a displacement of 32 bits. */
static void on_fault(int s, void *i, void *c)
{
	(void)s, (void)i;
	((u64 *)c)[5 + 16] += 7;
	alarms++;
}
static void timer(u64 us)
{
	u64 t[4] = {0, us, 0, us};
	call(ITIMER, 0, t, 0);
}

static __attribute__((noinline)) u64 fault(u32 rounds)
{
	u64 sum = 0;
	for (u32 r = 0; r < rounds; r++) {
		u64 *p = r % 3 ? table : (u64 *)8, v = r;
		__asm__ volatile("mov %c2(%1), %0" : "+r"(v) : "r"(p), "i"(0x100) : "memory");
		sum += v;
	}
	return sum;
}

/* ---- code that changes ---- */

static void changing(u32 rounds)
{
	unsigned char *code = (unsigned char *)call4(MMAP, 0, 4096, 7, 0x22);
	__asm__ volatile("" : : : "memory");
	for (u32 r = 0; r < rounds; r++) {
		unsigned char text[] = {0xb8, (unsigned char)r, 0, 0, 0, 0x48, 0xff, 0x07, 0xc3}; /* mov eax, r; inc qword [rdi]; ret */
		for (u32 k = 0; k < sizeof text; k++)
			((volatile unsigned char *)code)[k] = text[k];
		((int (*)(u64 *))code)(table);
	}
}

/* ---- threads and processes ---- */

static volatile int ended[4];
static char stack[4][16384];
long make_thread(void *top, volatile int *word);
__asm__("make_thread: mov $56, %eax\n mov %rdi, %r8\n mov %rsi, %r10\n mov $0x250f00, %edi\n mov %r8, %rsi\n xor %edx, %edx\n xor %r8d, %r8d\n"
        "syscall\n test %eax, %eax\n jz 1f\n ret\n1: and $-16, %rsp\n call in_thread\n");
void in_thread(void)
{
	work(40000);
	fill(100);
	call(EXIT, 0, 0, 0);
}
static void threads(void)
{
	for (int i = 0; i < 4; i++) {
		ended[i] = 1;
		make_thread(stack[i] + sizeof stack[i] - 64, &ended[i]);
	}
	work(20000);
	call(35, ((u64[]){1, 0}), 0, 0);
}

int main_(char **argv, char **envp)
{
	char what = argv[1][0];
	u64 k = (u64)(argv[2][0] - '0'), us = 100 + k * k * k * k; /* '~': never, here */
	int status = 0;
	handle(14, on_alarm);
	handle(11, on_fault);
	timer(us);
	switch (what) {
	case 'w': work(300000); break;
	case 'l': fill(20000); break;
	case 's': strings(20000); break;
	case 'f': fault(3000); break;
	case 'c': changing(2000); break;
	case 't': threads(); break;
	case 'p':
		for (int i = 0; i < 5; i++) {
			if (!call(FORK, 0, 0, 0)) {
				work(10000);
				argv[1] = "s";
				if (i & 1)
					call(EXECVE, argv[0], argv, envp);
				fill(50);
				end(i);
			}
			work(3000);
			call4(WAIT4, -1, (long)&status, 0, 0);
		}
		break;
	case 'k': work(200000); fill(100); call(KILL, call(GETPID, 0, 0, 0), 9, 0);
	}
	timer(0);
	call(WRITE, 1, &alarms, 8);
	end(0);
	return 0;
}
__asm__(".globl _start\n_start: mov (%rsp), %rax\n lea 8(%rsp), %rdi\n lea 16(%rsp, %rax, 8), %rsi\n and $-16, %rsp\n call main_\n hlt");
E
avx2=
grep -m1 '^flags' /proc/cpuinfo | grep -qw avx2 && avx2=-mavx2
$CC -O2 $avx2 -ffreestanding -fno-stack-protector -fno-tree-loop-distribute-patterns -fno-tree-vectorize -nostdlib -static -no-pie -Wall -o program program.c ||
	fail "program.c does not compile"

# look_at DIR: what is counted, in `total`
declare -A total
look_at() {
	local json key
	json=$("$TW" info --json "$1") || fail "info of $1"
	for key in instructions refs reads writes threads; do
		[[ $json =~ \"$key\":\ *([0-9]+) ]] || fail "info of $1 does not tell $key"
		total[$key]=${BASH_REMATCH[1]}
	done
}

# both FORMAT WHAT [STATUS]: stored and counted
both() {
	local stored key
	run stored.out stored.err "$TW" record -q -f "$1" -o stored.tw ./program "$2" '~'
	[ $? = "${3:-0}" ] || fail "record -f $1 of $2"
	run counted.out counted.err "$TW" record -q -f "$1" --sink=count -o counted.tw ./program "$2" '~'
	[ $? = "${3:-0}" ] || fail "record -f $1 --sink=count of $2"
	[ ! -s counted.err ] || fail "$1, $2: $(cat counted.err)"
	cmp stored.out counted.out || fail "$1, $2: output"
	look_at stored.tw
	stored=${total[*]}
	look_at counted.tw
	[ "$stored" = "${total[*]}" ] || fail "$1, $2: of ${!total[*]} stored $stored, counted ${total[*]}"
}
for f in dep dep-c bb_pc mem_addr bb_pc+mem_addr; do
	for what in w l s f c p; do
		left_out "$f $what" 'dep-c '{l,f,p} 'bb_pc '{l,s,c,p} 'mem_addr '{w,f,p,s} 'bb_pc+mem_addr '{w,l,c,p} && continue
		both $f $what
	done
done
for f in dep dep-c; do
	both $f t
	both $f k 137
done
for f in dep06 cf_bit call; do both $f s; done # these are counted by the collector

# Whatever the signals interrupt: instructions and references are those of the run without, and for each signal as many as its handler has. A system call
# that a signal came before is made again, which is an instruction more: there are two such calls while the timer runs.
# alarms FILE: how many signals came, in N
alarms() {
	read -r N < <(od -An -tu8 "$1")
	[ "${N:-0}" -gt 0 ]
}
declare -A none each
periods=(0 3 5 3 5 0 5 0 3) runs=0 # each with each format and each program
for f in dep dep-c mem_addr; do
	for what in w l s; do
		left_out "$f $what" 'dep l' 'dep-c s' 'mem_addr w' && continue
		"$TW" record -q -f $f --sink=count -o none.tw ./program $what '~' >none.out || fail "count, $f, $what"
		look_at none.tw
		for key in instructions refs; do none[$key]=${total[$key]}; done
		for _ in 1 2 3 4; do
			"$TW" record -q -f $f -o stored.tw ./program $what 6 >stored.out || fail "record, $f, $what, with signals"
			look_at stored.tw
			alarms stored.out && [ $(((total[instructions] - none[instructions]) % N)) = 0 ] && break
		done
		[ "$N" -gt 0 ] || fail "$f, $what: no signal came"
		for key in instructions refs; do
			more=$((total[$key] - none[$key]))
			[ $((more % N)) = 0 ] || fail "$f, $what: $more $key more with $N signals"
			each[$key]=$((more / N))
		done
		period=${periods[runs++]}
		"$TW" record -q -f $f --sink=count -o counted.tw ./program $what $period >counted.out || fail "count, $f, $what, with signals"
		alarms counted.out || fail "$f, $what: no signal came"
		look_at counted.tw
		for key in instructions refs; do
			expected=$((none[$key] + N * each[$key]))
			again=$((total[$key] - expected))
			[ $again = 0 ] || { [ $key = instructions ] && [ $again -gt 0 ] && [ $again -le 2 ]; } ||
				fail "$f, $what, $N signals: ${total[$key]} $key, expected $expected"
		done
	done
done

# A program that is killed from outside has counted all the same; one that nobody stops is counted until the recorder is.
"$TW" record -q --sink=count -o counted.tw -- "$BASH" -c './program w "~" >/dev/null; kill -KILL $$'
look_at counted.tw
[ "${total[instructions]}" -gt 3000000 ] || fail "killed: ${total[instructions]} instructions"
