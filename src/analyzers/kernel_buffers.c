#include "analyzers/kernel_buffers.h"

#include <string.h>

/* Does the function take a descriptor, a buffer and its size? */
static int has_buffer(const struct tw_open_call *c)
{
	static const char *const of[] = {"write", "send", "sendto", "read", "recv", "recvfrom", "pwrite", "pwrite64", "pread", "pread64"};
	const char *name = tw_calling_name(c);
	size_t i = 0;
	while (i < sizeof of / sizeof of[0] && strcmp(name, of[i]) != 0)
		i++;
	return i < sizeof of / sizeof of[0];
}

/* The first so many bytes of a buffer in pieces. */
static int take_pieces(const struct tw_calling_step *step, uint64_t bytes, int is_filled, tw_kernel_buffer *f, void *context)
{
	const uint64_t *list = step->list;
	int error = 0;
	for (size_t i = 0; i + 1 < step->call.n_list && bytes && !error; i += 2) {
		const uint64_t n = list[i + 1] < bytes ? list[i + 1] : bytes;
		error = n ? f(context, list[i], n, is_filled) : 0;
		bytes -= n;
	}
	return error;
}

int tw_kernel_buffers(const struct tw_calling_step *step, tw_kernel_buffer *f, void *context)
{
	const struct tw_open_call *c = &step->call;
	const int gives = step->change == TW_CALLING_ENTERED && (c->kind == TW_CALLED_GIVE_DATA || c->kind == TW_CALLED_WRITE_AT);
	const int takes = step->change == TW_CALLING_LEFT && (c->kind == TW_CALLED_TAKE_DATA || c->kind == TW_CALLED_READ_AT) &&
	                  (int64_t)step->result > 0;
	const uint64_t whole = c->n_list ? INT32_MAX : c->args[2], bytes = takes && step->result < whole ? step->result : whole;
	if ((!gives && !takes) || !bytes || bytes > INT32_MAX)
		return 0;
	if (c->n_list)
		return take_pieces(step, bytes, takes, f, context);
	return has_buffer(c) ? f(context, c->args[1], bytes, takes) : 0;
}
