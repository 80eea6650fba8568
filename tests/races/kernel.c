/* Buffers that the kernel reads and fills: at places in files, in pieces, in messages. */
#define _GNU_SOURCE
#include "cases.h"
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 64, HALF = BYTES / 2 };
static char filled_at[BYTES], told_at[BYTES], filled_pieces[BYTES], told_pieces[BYTES], filled_pieces_at[BYTES], told_pieces_at[BYTES];
static char message[BYTES], received[BYTES], own_halves[BYTES], own_pieces[BYTES], passed[BYTES], short_read[BYTES], counted[BYTES];
static int zeros, file, there[2], sockets[2], counter;
static void *filled_in_heap;

static void open_all(void)
{
	char name[] = "/tmp/races-XXXXXX";
	zeros = open("/dev/zero", O_RDONLY);
	file = mkstemp(name);
	counter = eventfd(0, 0);
	if (zeros < 0 || file < 0 || counter < 0 || unlink(name) || ftruncate(file, BYTES) || pipe(there) ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		abort();
}
static void is(ssize_t n, ssize_t wanted)
{
	if (n != wanted)
		abort();
}
static void in_pieces(struct iovec *v, char *bytes)
{
	v[0] = (struct iovec){bytes + HALF, HALF};
	v[1] = (struct iovec){bytes, HALF};
}
static void look(char *bytes)
{
	static __thread volatile char looked;
	for (int i = 0; i < BYTES; i++)
		looked += bytes[i];
}
static void change(char *bytes)
{
	for (int i = 0; i < BYTES; i++)
		bytes[i]++;
}

/* ---- racy ---- */
static void *fill_at(void *a)
{
	for (int i = 0; i < TURNS; i++)
		if (a)
			look(filled_at);
		else
			is(pread(zeros, filled_at, BYTES, 0), BYTES);
	return a;
}
static void pread_and_look(void)
{
	open_all();
	both(fill_at, fill_at);
}
static void *tell_at(void *a)
{
	for (int i = 0; i < TURNS; i++)
		if (a)
			change(told_at);
		else
			is(pwrite(file, told_at, BYTES, 0), BYTES);
	return a;
}
static void pwrite_and_change(void)
{
	open_all();
	both(tell_at, tell_at);
}
static void *fill_pieces(void *a)
{
	struct iovec v[2];
	in_pieces(v, filled_pieces);
	for (int i = 0; i < TURNS; i++)
		if (a)
			look(filled_pieces);
		else
			is(readv(zeros, v, 2), BYTES);
	return a;
}
static void readv_and_look(void)
{
	open_all();
	both(fill_pieces, fill_pieces);
}
static void *tell_pieces(void *a)
{
	struct iovec v[2];
	in_pieces(v, told_pieces);
	for (int i = 0; i < TURNS; i++)
		if (a)
			change(told_pieces);
		else
			is(writev(file, v, 2), BYTES);
	return a;
}
static void writev_and_change(void)
{
	open_all();
	both(tell_pieces, tell_pieces);
}
static void *fill_pieces_at(void *a)
{
	struct iovec v[2];
	in_pieces(v, filled_pieces_at);
	is(preadv(zeros, v, 2, 0), BYTES);
	return a;
}
static void preadv_twice(void)
{
	open_all();
	both(fill_pieces_at, fill_pieces_at);
}
static void *tell_pieces_at(void *a)
{
	struct iovec v[2];
	in_pieces(v, told_pieces_at);
	for (int i = 0; i < TURNS; i++)
		if (a)
			change(told_pieces_at);
		else
			is(pwritev(file, v, 2, 0), BYTES);
	return a;
}
static void pwritev_and_change(void)
{
	open_all();
	both(tell_pieces_at, tell_pieces_at);
}
static void *send_one(void *a)
{
	struct iovec v[2];
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	in_pieces(v, message);
	for (int i = 0; i < 4; i++)
		if (a)
			change(message);
		else
			is(sendmsg(sockets[0], &m, 0), BYTES);
	return a;
}
static void sendmsg_and_change(void)
{
	open_all();
	both(send_one, send_one);
}
static void *receive_one(void *a)
{
	struct iovec v[2];
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	in_pieces(v, received);
	for (int i = 0; i < 4; i++)
		if (a)
			look(received);
		else
			is(recvmsg(sockets[1], &m, 0), BYTES);
	return a;
}
static void recvmsg_and_look(void)
{
	open_all();
	for (int i = 0; i < 4; i++)
		is(send(sockets[0], message, BYTES, 0), BYTES);
	both(receive_one, receive_one);
}
static void *fill_heap(void *a)
{
	if (a)
		look(filled_in_heap);
	else
		is(pread(zeros, filled_in_heap, BYTES, 0), BYTES);
	return a;
}
static void pread_in_heap(void)
{
	open_all();
	filled_in_heap = malloc(BYTES);
	both(fill_heap, fill_heap);
	free(filled_in_heap);
}

/* ---- free of races ---- */
static void *halves(void *a)
{
	char *half = own_halves + (a ? HALF : 0);
	for (int i = 0; i < TURNS; i++) {
		is(pread(zeros, half, HALF, 0), HALF);
		half[i % HALF]++;
		is(pwrite(file, half, HALF, a ? HALF : 0), HALF);
	}
	return a;
}
static void halves_at(void)
{
	open_all();
	both(halves, halves);
}
static void *pieces(void *a)
{
	char *half = own_pieces + (a ? HALF : 0);
	struct iovec v[3] = {{half, HALF / 2}, {NULL, 0}, {half + HALF / 2, HALF / 2}};
	for (int i = 0; i < TURNS; i++) {
		is(preadv(zeros, v, 3, 0), HALF);
		half[i % HALF]++;
		is(pwritev(file, v, 3, 0), HALF);
		is(readv(zeros, v, 3), HALF);
	}
	return a;
}
static void halves_in_pieces(void)
{
	open_all();
	both(pieces, pieces);
}
static void *tell_same(void *a)
{
	struct iovec v[2];
	in_pieces(v, told_pieces);
	is(pwritev(file, v, 2, 0), BYTES);
	is(pwrite(file, told_pieces, BYTES, 0), BYTES);
	return a;
}
static void pwritev_twice(void)
{
	open_all();
	both(tell_same, tell_same);
}
/* What is handed over in pieces is the other's then. */
static void *pass(void *a)
{
	struct iovec v[2];
	in_pieces(v, passed);
	if (!a) {
		change(passed);
		is(writev(there[1], v, 2), BYTES);
	} else {
		char own[BYTES];
		struct iovec o[2];
		in_pieces(o, own);
		is(readv(there[0], o, 2), BYTES);
		change(passed);
	}
	return a;
}
static void writev_passes(void)
{
	open_all();
	both(pass, pass);
}
static void *pass_message(void *a)
{
	struct iovec v[2];
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	char own[BYTES];
	in_pieces(v, a ? own : passed);
	if (!a) {
		change(passed);
		is(sendmsg(sockets[0], &m, 0), BYTES);
	} else {
		is(recvmsg(sockets[1], &m, 0), BYTES);
		change(passed);
	}
	return a;
}
static void sendmsg_passes(void)
{
	open_all();
	both(pass_message, pass_message);
}
/* The kernel fills only what there was to read: the second half is the other's. */
static void *read_short(void *a)
{
	struct iovec v[2] = {{short_read, HALF}, {short_read + HALF, HALF}};
	if (a)
		memset(short_read + HALF, 1, HALF);
	else
		is(preadv(file, v, 2, HALF), HALF);
	return a;
}
static void preadv_short(void)
{
	open_all();
	both(read_short, read_short);
}
static void *count_events(void *a)
{
	eventfd_t n;
	if (!a) {
		change(counted);
		is(eventfd_write(counter, 1), 0);
	} else {
		is(eventfd_read(counter, &n), 0);
		change(counted);
	}
	return a;
}
static void eventfd_functions(void)
{
	open_all();
	both(count_events, count_events);
}

const struct test_case cases[] = {RACY(pread_and_look, filled_at),
                                  RACY(pwrite_and_change, told_at),
                                  RACY(readv_and_look, filled_pieces),
                                  RACY(writev_and_change, told_pieces),
                                  RACY(preadv_twice, filled_pieces_at),
                                  RACY(pwritev_and_change, told_pieces_at),
                                  RACY(sendmsg_and_change, message),
                                  RACY(recvmsg_and_look, received),
                                  OBJECT(pread_in_heap, "*"),
                                  FREE(halves_at),
                                  FREE(halves_in_pieces),
                                  FREE(pwritev_twice),
                                  FREE(writev_passes),
                                  FREE(sendmsg_passes),
                                  FREE(preadv_short),
                                  FREE(eventfd_functions),
                                  {NULL, NULL, NULL}};
