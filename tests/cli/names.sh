# Names: kept with the recording, whatever becomes of the files; demangled; of code made while the program ran; from separate debug files. What has no name says why.
. "$(dirname "$0")/../lib.sh"
need_command g++ objcopy strip

cat >cxx.cc <<'END_CXX'
#include <cstdio>
namespace app {
template <class T> struct Table {
	T all[64];
	__attribute__((noinline)) void fill(T from) { for (int i = 0; i < 64; i++) all[i] = from + i; }
};
}
int main()
{
	app::Table<long> t;
	for (int i = 0; i < 1000; i++)
		t.fill(i);
	std::printf("%ld\n", t.all[9]);
}
END_CXX
g++ -O1 -g -o cxx cxx.cc || fail "cxx.cc does not compile"
later() { # later CMD...: records without names
	RECORD_OPTIONS+=(--names=later)
	recorded "$@"
	unset 'RECORD_OPTIONS[-1]'
}
functions() { "$TW" report --functions -n 0 "$@" 2>report.err; }

recorded ./cxx
mv recording.tw kept.tw
later ./cxx
mv recording.tw later.tw
functions kept.tw >here.out || fail "report"
grep -q 'app::Table<long>::fill(long) cxx.cc:5' here.out || fail "a name of C++ is not demangled: $(cat here.out)"
functions --no-demangle kept.tw | grep -q '_ZN3app5TableIlE4fillEl' || fail "--no-demangle demangles"
[ -e later.tw/names ] && fail "--names=later keeps names"
alone() { awk '/^ *[0-9.]+%/ { $1 = $2 = $3 = $4 = $5 = ""; print }' | sort; } # without the counts: two runs may differ in them
functions later.tw | alone | cmp - <(alone <here.out) || fail "names that are looked up later are others than those that were kept"

# Removed, then built anew as something else: what was kept stays.
rm cxx
functions kept.tw | cmp - here.out || fail "the names change when the program is removed"
[ ! -s report.err ] || fail "names that are kept are said to be missing: $(cat report.err)"
functions later.tw >gone.out
grep -q 'cxx gives no names: the file is missing' report.err || fail "it is not said that the file is missing: $(cat report.err)"
grep -q 'Table' gone.out && fail "names of a file that is not there"
echo 'int main() { for (volatile int i = 0; i < 9999; i = i + 1); }' >other.cc
g++ -O0 -g -o cxx other.cc || fail "other.cc does not compile"
functions kept.tw | cmp - here.out || fail "the names change when the program is built anew"

# Damage to them costs the names, and is said.
cp -r kept.tw hurt.tw
printf 'xxxx' | dd of=hurt.tw/names bs=1 seek=100 conv=notrunc status=none
functions hurt.tw >hurt.out && fail "damaged names are not told by the exit status"
grep -q 'names: the block at offset 0' report.err || fail "damaged names are not told: $(cat report.err)"

# A separate debug file, by its link and by debuginfod.
cc_program apart <<'END_C'
static __attribute__((noinline)) int in_debug_file(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}
int main(void)
{
	return in_debug_file(1000) == 1;
}
END_C
objcopy --only-keep-debug apart apart.debug && strip apart && objcopy --add-gnu-debuglink=apart.debug apart || fail "objcopy"
recorded ./apart
functions recording.tw | grep -q 'in_debug_file apart.c:3' || fail "a separate debug file is not used"
if ldconfig -p | grep -q libdebuginfod.so.1; then
	id=$(readelf -n apart | sed -n 's/.*Build ID: //p')
	mkdir -p "served/buildid/$id" cache
	mv apart.debug "served/buildid/$id/debuginfo"
	DEBUGINFOD_URLS=file://$PWD/served DEBUGINFOD_CACHE_PATH=$PWD/cache recorded ./apart
	functions recording.tw | grep -q 'in_debug_file apart.c:3' || fail "debuginfod is not asked"
fi
# Without servers to ask it is not even loaded.
if ! ldd "$TW" | grep -q libdw; then
	DEBUGINFOD_URLS='' LD_DEBUG=libs LD_DEBUG_OUTPUT=$PWD/loaded recorded ./apart
	cat loaded.* | grep -q libc || fail "what is loaded is not seen"
	cat loaded.* | grep -q libdebuginfod && fail "libdebuginfod is loaded for nothing"
fi
rm -f apart.debug
later ./apart
functions recording.tw | grep -q 'in_debug_file' && fail "the names are still there without the debug file"
"$TW" report --functions --json -n 0 recording.tw | grep -q '"unnamed": *"the file has no symbol for this code' || fail "report does not say why there is no name"

# A function has the name that programs are linked with today, not one of an old version.
cat >old.c <<'END_C'
__attribute__((noinline)) int known(int n)
{
	volatile int sum = n;
	return sum;
}
extern int alpha_old(int) __attribute__((alias("known")));
__asm__(".symver alpha_old,alpha@OLD");
END_C
echo 'OLD { }; NEW { global: known; local: *; };' >versions
$CC -O1 -shared -fPIC -Wl,--version-script=versions -o libold.so old.c || fail "libold.so does not compile"
echo 'int known(int); int main(void) { return known(1) - 1; }' >new.c
$CC -o new new.c ./libold.so || fail "new.c does not compile"
recorded ./new
functions recording.tw >old.out
grep -q 'known (libold.so)' old.out && ! grep -q alpha old.out || fail "the name of an old version: $(grep alpha old.out)"

# Code that the program makes, told by a perf map and by a jitdump file.
cc_program made <<'END_C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* mov eax, edi; 1: dec eax; jnz 1b; ret */
static const unsigned char code[] = {0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
static void dump(const char *name, const unsigned char *at)
{
	uint32_t pid = (uint32_t)getpid(), head[10] = {0x4a695444, 1, 40, 62, 0, pid};
	uint32_t load[14] = {0, 0, 0, 0, pid, pid};
	uint64_t place[4] = {(uint64_t)at, (uint64_t)at, sizeof code, 1};
	char path[64];
	snprintf(path, sizeof path, "jit-%u.dump", pid);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	load[1] = (uint32_t)(16 + 8 + 32 + strlen(name) + 1 + sizeof code);
	if (write(fd, head, 40) < 0 || write(fd, load, 24) < 0 || write(fd, place, 32) < 0 || write(fd, name, strlen(name) + 1) < 0 ||
	    write(fd, code, sizeof code) < 0)
		_exit(1);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
}
int main(int argc, char **argv)
{
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(at, code, sizeof code);
	if (argc > 1) {
		dump("dumped_function", at);
	} else {
		char path[64];
		snprintf(path, sizeof path, "/tmp/perf-%u.map", (unsigned)getpid());
		FILE *f = fopen(path, "w");
		fprintf(f, "%lx %zx mapped function\n", (unsigned long)at, sizeof code);
		fclose(f);
		puts(path);
	}
	((void (*)(int))at)(100000);
	return 0;
}
END_C
"$TW" record -q -o recording.tw ./made >map.name || fail "record"
rm -f "$(cat map.name)"
functions recording.tw | grep -q 'mapped function (\[jit\])' || fail "a perf map is not used"
rm -rf recording.tw
"$TW" record -q -o recording.tw ./made dump || fail "record"
rm -f jit-*.dump
functions recording.tw | grep -q 'dumped_function (\[jit\])' || fail "a jitdump file is not used"
