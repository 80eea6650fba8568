// C++: std::thread and what goes with it.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
extern "C" {
#include "cases.h"
}

static void both_threads(const std::function<void(int)> &f)
{
	std::thread a(f, 0), b(f, 1);
	a.join();
	b.join();
}

int cxx_plain;
static void cxx_counter() { both_threads([](int) { for (int i = 0; i < TURNS; i++) cxx_plain++; }); }

std::string cxx_text;
static void cxx_string() { both_threads([](int) { cxx_text += "x"; }); }

std::atomic<int> cxx_flag;
int cxx_data;
static void cxx_relaxed()
{
	both_threads([](int me) {
		if (!me) {
			cxx_data = 1;
			cxx_flag.store(1, std::memory_order_relaxed);
		} else {
			for (unsigned n = 0; !cxx_flag.load(std::memory_order_relaxed);)
				if (++n % 1000 == 0)
					std::this_thread::yield();
			if (cxx_data != 1)
				abort();
		}
	});
}

std::mutex cxx_lock;
static void cxx_mutex()
{
	both_threads([](int) {
		for (int i = 0; i < TURNS; i++) {
			std::lock_guard<std::mutex> hold(cxx_lock);
			cxx_plain++;
		}
	});
}
static void cxx_atomic()
{
	static std::atomic<long> n;
	both_threads([](int) { for (int i = 0; i < TURNS; i++) n++; });
}
static void cxx_acquire()
{
	both_threads([](int me) {
		if (!me) {
			cxx_data = 1;
			cxx_flag.store(1, std::memory_order_release);
		} else {
			for (unsigned n = 0; !cxx_flag.load(std::memory_order_acquire);)
				if (++n % 1000 == 0)
					std::this_thread::yield();
			if (cxx_data != 1)
				abort();
		}
	});
}
static int make() { return 42; }
static void cxx_static()
{
	both_threads([](int) {
		static int once = make();
		if (once != 42)
			abort();
	});
}
std::once_flag cxx_once;
static void cxx_call_once() { both_threads([](int) { std::call_once(cxx_once, [] { cxx_data = 3; }); if (cxx_data != 3) abort(); }); }
static void cxx_future()
{
	auto f = std::async(std::launch::async, [] { return std::string("text"); });
	if (f.get() != "text")
		abort();
}
static void cxx_shared_ptr()
{
	auto p = std::make_shared<int>(5);
	std::thread a([p] { if (*p != 5) abort(); }), b([p] { if (*p != 5) abort(); });
	p.reset();
	a.join();
	b.join();
}
std::shared_mutex cxx_rw;
static void cxx_shared_mutex()
{
	both_threads([](int me) {
		for (int i = 0; i < TURNS; i++) {
			if (me) {
				std::shared_lock<std::shared_mutex> hold(cxx_rw);
				if (cxx_plain < 0)
					abort();
			} else {
				std::unique_lock<std::shared_mutex> hold(cxx_rw);
				cxx_plain++;
			}
		}
	});
}
std::condition_variable cxx_cond;
static void cxx_condition()
{
	static bool ready;
	both_threads([](int me) {
		std::unique_lock<std::mutex> hold(cxx_lock);
		if (me) {
			ready = true;
			cxx_cond.notify_one();
		} else {
			cxx_cond.wait(hold, [] { return ready; });
		}
	});
}

extern "C" const struct test_case cases[] = {RACY(cxx_counter, cxx_plain), OBJECT(cxx_string, "*"), RACY(cxx_relaxed, cxx_data), FREE(cxx_mutex), FREE(cxx_atomic), FREE(cxx_acquire),
                                  FREE(cxx_static), FREE(cxx_call_once), FREE(cxx_future), FREE(cxx_shared_ptr), FREE(cxx_shared_mutex), FREE(cxx_condition), {NULL, NULL, NULL}};
