# Libraries loaded and unloaded many times, at addresses that are used again.
. "$(dirname "$0")/../lib.sh"
for i in 1 2 3; do
	cc_program lib$i.so -shared -fPIC -DN=$i <<'END'
static int state = N;
int work(int x) { for (int i = 0; i < x; i++) state = state * 31 + N; return state; }
END
done
cc_program loader -ldl <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	long sum = 0;
	for (int i = 0; i < 30; i++) {
		char name[32];
		snprintf(name, sizeof name, "./lib%d.so", i % 3 + 1);
		void *l = dlopen(name, i % 2 ? RTLD_NOW : RTLD_LAZY);
		int (*work)(int) = l ? (int (*)(int))dlsym(l, "work") : NULL;
		if (!work)
			return 1;
		sum = sum * 7 + work(i);
		dlclose(l);
	}
	printf("%ld %s\n", sum, dlopen("./no.so", RTLD_NOW) ? "?" : "none");
	return 0;
}
END
whole ./loader
