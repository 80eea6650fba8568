# --start and --stop at functions of programs in two versions: what ran between them is recorded, and nothing else.
# timeout: 120
. "$(dirname "$0")/../cc.sh"
need_command gcc g++
cat >l.cpp <<'X'
static volatile int n;
extern "C" __attribute__((noinline)) void inner(int k)
{
	n += k;
}
namespace outer {
__attribute__((noinline)) void middle(int times)
{
	for (int k = 0; k < times; k++)
		inner(k);
}
}
extern "C" __attribute__((noinline)) void late(void)
{
	n += 2;
}
extern "C" int result(void)
{
	return n;
}
X
cat >p.cpp <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
namespace outer {
void middle(int times);
}
extern "C" {
void late(void);
void inner(int k);
int result(void);
__attribute__((noinline)) void early(void)
{
	late();
}
__attribute__((noinline)) void after(int k)
{
	for (int i = 0; i <= k; i++)
		inner(i);
}
}
static void *more(void *p)
{
	outer::middle(5);
	late();
	after(1);
	return p;
}
int main(int argc, char **)
{
	early();
	for (int k = 0; k < 3; k++) {
		outer::middle(10);
		late();
		after(k);
	}
	if (argc > 1) { /* this thread goes by no function or loop while the other has its window */
		pthread_t t;
		pthread_create(&t, nullptr, more, nullptr);
		pthread_join(t, nullptr);
	}
	printf("%d\n", result());
	return 3;
}
X
# between WHAT OPTION...: WHAT is the functions that are recorded. $more: the program's argument
between() {
	rm -rf recording.tw
	run recorded.out recorded.err "$TW" record -q -o recording.tw "${@:2}" ./p $more
	RECORDED_STATUS=$?
	compare_runs "$way: ${*:2}"
	check_good
	"$TW" report --csv recording.tw | tail -n +2 | awk -F, '{ print $(NF - 5) }' | sort | tr '\n' ' ' >functions
	[ "$(cat functions)" = "$1" ] || fail "$way: ${*:2}: it recorded $(cat functions)and not $1"
}
blocks() { "$TW" info recording.tw | awk '$1 == "blocks" { print $2 }'; }
more=
for way in 'g++ -O2' 'g++ -O2 -fcf-protection' 'g++ -O0 -fPIC -shared'; do
	if [[ $way = *shared* ]]; then
		CC_OPTIONS=--switchable instrumented l.so $way l.cpp
		CC_OPTIONS=--switchable instrumented p g++ -O0 p.cpp "$PWD/l.so" -pthread
	else
		CC_OPTIONS=--switchable instrumented p $way l.cpp p.cpp -pthread
	fi
	native ./p.plain
	between 'inner outer::middle(int) ' --start=outer::middle --stop=late
	once=$(blocks)
	between 'after inner main outer::middle(int) result ' --start=after --stop=late
	between 'main ' --stop=early
	between 'after inner late main outer::middle(int) result ' --start=late --stop=early
	more=more
	native ./p.plain more
	between 'inner outer::middle(int) ' --start=outer::middle --stop=late
	[ "$(blocks)" -gt "$once" ] || fail "$way: another thread has no windows"
	more=
done
one_sentence "$TW" record --start=0x1234567890 ./p
says 'but at a function or a time'
one_sentence "$TW" record --start=1000i ./p
says 'no .--start but at a function or a time'
one_sentence "$TW" record --stop=0x1234567890 ./p
says 'no .--stop but at a function, a count or a time'
"$TW" record -o recording.tw --start=nosuch ./p >out 2>err
grep -q 'nosuch was not found' err || fail "a function that is not there: $(cat err)"
