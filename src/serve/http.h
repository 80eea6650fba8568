/*
 * As much of HTTP/1.1 as needed to serve pages to one's own browser: one request per connection, answered and closed.
 */
#ifndef TW_HTTP_H
#define TW_HTTP_H

#include <stddef.h>

enum { TW_HTTP_HEAD = 16384, TW_HTTP_BODY = 65536 }; /* at most so many bytes each */

struct tw_http_request {
	char method[8], path[1024];  /* the path as it came, without what is behind '?' */
	char host[256], origin[256]; /* "" where it is not told */
	char *body;                  /* NUL-terminated */
	size_t n_body;
	char head[TW_HTTP_HEAD + 1]; /* private */
};

/*
 * Reads a request. 0, or the status to answer with: 400 not understood, 408 timeout, 413 and 431 too large, 501
 * chunked body; -1: nobody to answer. tw_http_free in any case.
 */
int tw_http_read(int fd, struct tw_http_request *r);
void tw_http_free(struct tw_http_request *r);

/* Answers with `n` bytes of `body`; with none to a HEAD request. */
void tw_http_answer(int fd, const struct tw_http_request *r, int status, const char *type, const char *body, size_t n);

#endif
