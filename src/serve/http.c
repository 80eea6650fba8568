#include "serve/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* ---- reading ---- */

static int lost(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 408 : -1;
}

/* Reads up to the empty line. *n: bytes read; *end: those of the head. */
static int read_head(int fd, struct tw_http_request *r, size_t *n, size_t *end)
{
	const char *found = NULL;
	for (*n = 0; !found;) {
		if (*n == TW_HTTP_HEAD)
			return 431;
		ssize_t got = recv(fd, r->head + *n, TW_HTTP_HEAD - *n, 0);
		if (got <= 0)
			return got == 0 && *n ? 400 : lost(got);
		if (memchr(r->head + *n, 0, (size_t)got))
			return 400;
		*n += (size_t)got;
		r->head[*n] = 0;
		found = strstr(r->head, "\r\n\r\n");
	}
	*end = (size_t)(found - r->head) + 4;
	return 0;
}

/* A word of the first line, up to a blank. Returns what follows it; NULL: none, or too long. */
static char *take_word(char *s, char *to, size_t size)
{
	size_t n = strcspn(s, " \r\n");
	if (!n || n >= size || s[n] != ' ')
		return NULL;
	memcpy(to, s, n);
	to[n] = 0;
	return s + n + 1;
}

static int parse_line(struct tw_http_request *r)
{
	char *s = take_word(r->head, r->method, sizeof r->method);
	s = s ? take_word(s, r->path, sizeof r->path) : NULL;
	if (!s || r->path[0] != '/' || (strncmp(s, "HTTP/1.1\r\n", 10) && strncmp(s, "HTTP/1.0\r\n", 10)))
		return 400;
	r->path[strcspn(r->path, "?#")] = 0;
	return 0;
}

static int copy_value(char *to, size_t size, const char *value, size_t n)
{
	if (n >= size || to[0])
		return 400;
	memcpy(to, value, n);
	to[n] = 0;
	return 0;
}

static int parse_field(struct tw_http_request *r, const char *line, size_t n, char length[24])
{
	const char *colon = memchr(line, ':', n);
	if (!colon || colon == line || line[0] == ' ' || line[0] == '\t')
		return 400;
	size_t name = (size_t)(colon - line);
	const char *value = colon + 1;
	while (*value == ' ' || *value == '\t')
		value++;
	size_t left = (size_t)(line + n - value);
	while (left && (value[left - 1] == ' ' || value[left - 1] == '\t'))
		left--;
	if (name == 4 && !strncasecmp(line, "host", 4))
		return copy_value(r->host, sizeof r->host, value, left);
	if (name == 6 && !strncasecmp(line, "origin", 6))
		return copy_value(r->origin, sizeof r->origin, value, left);
	if (name == 14 && !strncasecmp(line, "content-length", 14))
		return copy_value(length, 24, value, left);
	return name == 17 && !strncasecmp(line, "transfer-encoding", 17) ? 501 : 0;
}

static int parse_fields(struct tw_http_request *r, char length[24])
{
	int status = 0;
	for (const char *line = strstr(r->head, "\r\n") + 2, *end; !status && strncmp(line, "\r\n", 2); line = end + 2) {
		end = strstr(line, "\r\n");
		status = parse_field(r, line, (size_t)(end - line), length);
	}
	return status;
}

static int read_body(int fd, struct tw_http_request *r, const char *length, const char *begun, size_t n_begun)
{
	char *end;
	size_t n = length[0] ? strtoul(length, &end, 10) : 0;
	if (length[0] && (length[0] < '0' || length[0] > '9' || *end))
		return 400;
	if (n > TW_HTTP_BODY)
		return 413;
	r->body = calloc(1, n + 1);
	if (!r->body)
		return 413;
	r->n_body = n_begun < n ? n_begun : n;
	memcpy(r->body, begun, r->n_body);
	while (r->n_body < n) {
		ssize_t got = recv(fd, r->body + r->n_body, n - r->n_body, 0);
		if (got <= 0)
			return got ? lost(got) : 400;
		r->n_body += (size_t)got;
	}
	return 0;
}

int tw_http_read(int fd, struct tw_http_request *r)
{
	char length[24] = "";
	size_t n, end;
	memset(r, 0, sizeof *r);
	int status = read_head(fd, r, &n, &end);
	status = status ? status : parse_line(r);
	status = status ? status : parse_fields(r, length);
	return status ? status : read_body(fd, r, length, r->head + end, n - end);
}

void tw_http_free(struct tw_http_request *r)
{
	free(r->body);
}

/* ---- answering ---- */

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {{200, "OK"},
	               {400, "Bad Request"},
	               {403, "Forbidden"},
	               {404, "Not Found"},
	               {405, "Method Not Allowed"},
	               {408, "Request Timeout"},
	               {413, "Content Too Large"},
	               {431, "Request Header Fields Too Large"},
	               {501, "Not Implemented"}};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Internal Server Error";
}

static int send_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return 0;
		bytes += sent;
		n -= (size_t)sent;
	}
	return 1;
}

void tw_http_answer(int fd, const struct tw_http_request *r, int status, const char *type, const char *body, size_t n)
{
	char head[512];
	int length =
	    snprintf(head, sizeof head,
	             "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\nCache-Control: no-store\r\n"
	             "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\r\n",
	             status, reason_of(status), type, n);
	if (send_all(fd, head, (size_t)length) && strcmp(r->method, "HEAD"))
		send_all(fd, body, n);
}
