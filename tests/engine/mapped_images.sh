# A program that maps an image of its own, private, writable and executable, as Lisp systems do: what was translated from it is kept, and right as long as nothing is written there - and what is
# written, before it runs or behind that, by the program or by the kernel, is what runs.
. "$(dirname "$0")/../lib.sh"
need_command python3

MANY=3000
cc_program prog -O1 -DMANY=$MANY <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 32, PAGE = 4096, PLACE = 0x52a00000 };
static unsigned char *image;

static long call_all(void)
{
	long sum = 0;
	for (int i = 0; i < MANY; i++) {
		int (*f)(void);
		void *at = image + i * BYTES;
		memcpy(&f, &at, sizeof f);
		sum = sum * 3 + f();
	}
	return sum;
}

/* mov $value, %eax; ret */
static void write_code(unsigned char *to, int value)
{
	to[0] = 0xb8;
	memcpy(to + 1, &value, sizeof value);
	to[5] = 0xc3;
}

static void map(const char *path)
{
	const size_t length = (MANY * BYTES + PAGE - 1) / PAGE * PAGE;
	const int fd = open(path, O_RDONLY), prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	mmap((void *)(long)PLACE, 4 * length, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	image = mmap((void *)(long)PLACE, length, prot, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	int pipe_ends[2];
	unsigned char code[BYTES] = {0};
	map(argc > 2 ? argv[2] : "image");
	if (!strcmp(what, "written")) { /* before anything of it has run */
		write_code(image + 700 * BYTES, -5);
	} else if (!strcmp(what, "read")) { /* by the kernel */
		write_code(code, -6);
		if (pipe(pipe_ends) || write(pipe_ends[1], code, sizeof code) != sizeof code || read(pipe_ends[0], image + 900 * BYTES, sizeof code) != sizeof code)
			return 1;
	} else if (!strcmp(what, "replaced")) { /* a page of something else */
		unsigned char *page = mmap(image + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		for (int i = 0; i < PAGE / BYTES; i++)
			write_code(page + i * BYTES, -i);
	} else if (!strcmp(what, "moved")) {
		image = mremap(image, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, image + (64 << 20));
		write_code(image + 2 * BYTES, 77);
		printf("%d\n", ((int (*)(void))(void *)(image + 2 * BYTES))());
		map("image");
	} else if (!strcmp(what, "protected")) {
		mprotect(image, 2 * PAGE, PROT_READ | PROT_EXEC);
		mprotect(image, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
		write_code(image + 5 * BYTES, -9);
	}
	printf("%s %ld\n", what, call_all());
	write_code(image + 1200 * BYTES, -7); /* what has run is changed */
	printf("%ld\n", call_all());
	madvise(image + 1200 * BYTES / PAGE * PAGE, PAGE, MADV_DONTNEED); /* and is as in the file again */
	printf("%ld\n", call_all());
	return 3;
}
END
# image NAME VALUE: functions that return VALUE and more
image() {
	python3 -c 'import struct, sys
open(sys.argv[1], "wb").write(b"".join((b"\xb8" + struct.pack("<i", int(sys.argv[2]) + i) + b"\xc3").ljust(32, b"\x90") for i in range(int(sys.argv[3]))))' "$1" "$2" $MANY
}
image image 1
image other 5000
sleep 4.2 # so old that they have an identity

# fragments DIR: how many were made
fragments() { "$TW" info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["engine"]["fragments"])'; }

# same FORMAT ARG...: is it as natively, and are the references right?
same() {
	local how
	how=$([ "$1" = none ] || echo --verify)
	./prog "${@:2}" >native
	rm -rf r.tw
	"$TW" record -q $how -f "$1" -o r.tw -- ./prog "${@:2}" >out 2>err
	[ $? = 3 ] || fail "$*: status: $(cat err)"
	cmp -s out native || fail "$*: $(cat out), natively $(cat native)"
}

for format in none dep; do
	same $format plain
	first=$(fragments r.tw)
	[ "$first" -gt $MANY ] || fail "$format: the first run made $first fragments"
	same $format plain
	second=$(fragments r.tw)
	[ "$second" -lt $((first / 4)) ] || fail "$format: the first run made $first fragments, the second $second"
	for what in written read replaced moved protected plain; do
		same $format $what
		same $format $what
	done
	same $format plain other # of the same size at the same place
	same $format plain
done

# Another file has the name now; then that one has changed in its place.
cp other image.new && mv image.new image
same none plain
same none plain
image image 9
sleep 4.2
same none plain
same none plain
