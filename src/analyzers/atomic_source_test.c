#include "analyzers/atomic_source.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/atomic_source_XXXXXX";
static char path[256];

/* A file of the folder, whose path is `path` then. */
static void make(const char *name, const char *text)
{
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* Of a file of this text alone, the line that the marker stands in, at its end. */
static enum tw_atomic_kind kind_of(const char *name, const char *text)
{
	struct tw_atomic_source s = {0};
	unsigned line = 1;
	for (const char *p = text, *at = strstr(text, "//?"); p < at; p++)
		line += *p == '\n';
	make(name, text);
	const enum tw_atomic_kind kind = tw_atomic_source_kind(&s, path, line, NULL);
	tw_atomic_source_free(&s);
	CHECK(!unlink(path));
	return kind;
}

static void test_statements(void)
{
	EQUAL(kind_of("a.c", "#include <stdatomic.h>\nint f(void)\n{\n\treturn x; //?\n}\n"), TW_ATOMIC_EXPRESSLY_PLAIN);
	EQUAL(kind_of("a.c", "int f(void)\n{\n\treturn atomic_load(&x); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", "int f(void)\n{\n\treturn __atomic_load_n(&x, __ATOMIC_RELAXED); //?\n}\n"), TW_ATOMIC_RELAXED);
	EQUAL(kind_of("a.c", "_Atomic int x;\nint y, f(void)\n{\n\treturn x; //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", "_Atomic int x;\nint y, f(void)\n{\n\treturn y; //?\n}\n"), TW_ATOMIC_EXPRESSLY_PLAIN);
	EQUAL(kind_of("a.c", "#pragma omp atomic\n\tx++; //?\n"), TW_ATOMIC_RELAXED);
	EQUAL(kind_of("a.go", "func f() int {\n\treturn atomic.LoadInt32(&x) //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.go", "import \"sync/atomic\"\nfunc f() int {\n\treturn x //?\n}\n"), TW_ATOMIC_UNKNOWN);
}

static void test_names(void)
{
	EQUAL(kind_of("a.c", "int f(void)\n{\n\treturn g_atomic_int_get (&x); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", "int f(void)\n{\n\tatomicGet(x, y); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", "int f(void)\n{\n\treturn uatomic_read(&x); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", "int f(void)\n{\n\treturn is_atomic; //?\n}\n"), TW_ATOMIC_EXPRESSLY_PLAIN);
	EQUAL(kind_of("a.c", "int f(void)\n{\n\treturn atomicity(x); //?\n}\n"), TW_ATOMIC_EXPRESSLY_PLAIN);
	CHECK(tw_atomic_source_is_operation("pg_atomic_read_u32", strlen("pg_atomic_read_u32")));
	CHECK(!tw_atomic_source_is_operation("read_atomic", strlen("read_atomic")));
}

static void test_macros(void)
{
#define MACRO "#define LOAD(p) \\\n\t__atomic_load_n(p, __ATOMIC_ACQUIRE)\n#define READY(q) (LOAD(&(q)->flag) != 0)\n#define PLAIN(x) (x)\n"
	EQUAL(kind_of("a.c", MACRO "int f(void)\n{\n\treturn LOAD(&x); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", MACRO "int f(void)\n{\n\treturn READY(q); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.c", MACRO "int f(void)\n{\n\treturn PLAIN(x); //?\n}\n"), TW_ATOMIC_EXPRESSLY_PLAIN);
}

static void test_includes(void)
{
	struct tw_atomic_source s = {0};
	make("inner.h", "#include \"outer.h\"\n#define SET(p) __atomic_store_n(p, 1, __ATOMIC_RELEASE)\n");
	make("outer.h", "#include \"inner.h\"\nstruct s {\n\tatomic_int refs;\n\tint plain;\n};\n");
	make("main.c",
	     "#  include \"outer.h\"\nint f(struct s *s)\n{\n\tint n = s->refs;\n\tn += s->plain;\n\tSET(&s->plain);\n\treturn 0;\n}\n");
	EQUAL(tw_atomic_source_kind(&s, path, 4, NULL), TW_ATOMIC_ORDERS);
	EQUAL(tw_atomic_source_kind(&s, path, 5, NULL), TW_ATOMIC_EXPRESSLY_PLAIN);
	EQUAL(tw_atomic_source_kind(&s, path, 6, NULL), TW_ATOMIC_ORDERS);
	EQUAL(tw_atomic_source_kind(&s, "/nowhere/main.c", 4, NULL), TW_ATOMIC_UNKNOWN);
	tw_atomic_source_free(&s);
	static const char *const names[] = {"inner.h", "outer.h", "main.c"};
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		CHECK(!unlink(path));
	}
}

static void test_rust(void)
{
	EQUAL(kind_of("a.rs", "fn f() {\n    F.store(true, Ordering::Relaxed); //?\n}\n"), TW_ATOMIC_RELAXED);
	EQUAL(kind_of("a.rs", "fn f() {\n    F.store(true, Ordering::Release); //?\n}\n"), TW_ATOMIC_ORDERS);
	EQUAL(kind_of("a.rs", "fn f() {\n    fence(Ordering::Release);\n    std::sync::atomic::fence(SeqCst);\n    F.store(true, "
	                      "Ordering::Relaxed); //?\n}\n"),
	      TW_ATOMIC_ORDERS);
	struct tw_atomic_source s = {0};
	make("b.rs", "fn f() {\n    F.swap(true, Acquire);\n    F.swap(true, Release);\n    F.swap(true, AcqRel);\n    "
	             "F.compare_exchange(1, 2, Acquire, Relaxed);\n}\n");
	EQUAL(tw_atomic_source_lacks(&s, path, 2), TW_ATOMIC_NO_RELEASE);
	EQUAL(tw_atomic_source_lacks(&s, path, 3), TW_ATOMIC_NO_ACQUIRE);
	EQUAL(tw_atomic_source_lacks(&s, path, 4), 0);
	EQUAL(tw_atomic_source_lacks(&s, path, 5), TW_ATOMIC_NO_RELEASE);
	tw_atomic_source_free(&s);
	CHECK(!unlink(path));
}

int main(void)
{
	CHECK(mkdtemp(folder) != NULL);
	test_statements();
	test_names();
	test_macros();
	test_includes();
	test_rust();
	CHECK(!rmdir(folder));
	return UNIT_END();
}
