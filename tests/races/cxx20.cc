/*
 * C++20: latches, barriers, semaphores, stop tokens, atomics that are waited for, futures, thread-local objects. As cases.h has it.
 */
#include <array>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>
extern "C" {
#include "cases.h"
}

extern "C" {
int x_by_latch[3], x_after_count, x_by_barrier[3], x_dropped, x_stopped, x_unjoined, x_late_value, x_under_shared, x_once_data, x_waited, x_waited_relaxed, x_by_two, x_local_total, x_local_plain, x_queue_data,
    x_timed, x_package;
}

template <class F, class G> static void two(F f, G g)
{
	std::thread a(f), b(g);
	a.join();
	b.join();
}

static void x_latch()
{
	std::latch done(2);
	auto work = [&](int i) {
		x_by_latch[i] = i;
		done.count_down();
	};
	std::thread a(work, 0), b(work, 1);
	done.wait();
	x_by_latch[2] = x_by_latch[0] + x_by_latch[1];
	a.join();
	b.join();
}

static void x_latch_late()
{
	std::latch done(1);
	std::thread a([&] {
		done.count_down();
		x_after_count++;
	});
	done.wait();
	x_after_count++;
	a.join();
}

static void x_barrier()
{
	int phases = 0;
	auto completed = [&]() noexcept { phases += x_by_barrier[0] + x_by_barrier[1]; };
	std::barrier<decltype(completed)> meet(2, completed);
	auto work = [&](int i) {
		for (int k = 0; k < 10; k++) {
			x_by_barrier[i] = k;
			meet.arrive_and_wait();
			x_by_barrier[i] += phases;
			meet.arrive_and_wait();
		}
	};
	std::thread a(work, 0), b(work, 1);
	a.join();
	b.join();
	x_by_barrier[2] = phases;
}

static void x_barrier_drop()
{
	std::barrier<> meet(2);
	two(
	    [&] {
		    meet.arrive_and_drop();
		    x_dropped++;
	    },
	    [&] {
		    meet.arrive_and_wait();
		    x_dropped++;
	    });
}

static void x_stop_handover()
{
	std::jthread a([](std::stop_token stop) {
		while (!stop.stop_requested())
			std::this_thread::yield();
		x_stopped++;
	});
	x_stopped = 5;
	a.request_stop();
}

static void x_jthread_early()
{
	std::jthread a([] { x_unjoined++; });
	x_unjoined++;
}

static void x_promise()
{
	std::promise<std::vector<int>> p;
	auto f = p.get_future();
	std::thread a([&] {
		x_package = 1;
		p.set_value({1, 2, 3});
	});
	x_package += f.get()[2];
	a.join();
}

static void x_packaged()
{
	std::packaged_task<int(int)> task([](int n) { return x_package += n; });
	auto f = task.get_future().share();
	std::thread a(std::move(task), 2);
	two([f] { f.wait(); }, [f] { x_package += f.get(); });
	a.join();
}

static void x_async_throws()
{
	auto f = std::async(std::launch::async, []() -> int {
		x_package++;
		throw std::runtime_error("of the task");
	});
	try {
		f.get();
	} catch (const std::exception &e) {
		x_package += (int)strlen(e.what());
	}
}

static void x_future_late()
{
	std::promise<int> p;
	auto f = p.get_future();
	std::thread a([&] {
		p.set_value(1);
		x_late_value++;
	});
	x_late_value += f.get();
	a.join();
}

static void x_shared_write()
{
	std::shared_mutex m;
	std::atomic<int> in{0};
	auto work = [&] {
		std::shared_lock<std::shared_mutex> l(m);
		in.fetch_add(1, std::memory_order_relaxed);
		while (in.load(std::memory_order_relaxed) < 2)
			std::this_thread::yield();
		x_under_shared++;
	};
	two(work, work);
}

static void x_shared_upgraded()
{
	std::shared_timed_mutex m;
	auto work = [&] {
		for (int i = 0; i < TURNS; i++) {
			m.lock_shared();
			const int seen = x_under_shared;
			m.unlock_shared();
			if (m.try_lock_for(std::chrono::seconds(10))) {
				x_under_shared = seen + 1;
				m.unlock();
			}
		}
	};
	two(work, work);
}

static void x_call_once_throw()
{
	static std::once_flag flag;
	static std::atomic<int> attempts;
	auto work = [] {
		for (int i = 0; i < 3; i++)
			try {
				std::call_once(flag, [] {
					x_once_data++;
					if (!attempts.fetch_add(1, std::memory_order_relaxed))
						throw std::runtime_error("once more");
				});
				return;
			} catch (const std::runtime_error &) {
			}
	};
	two(work, work);
	x_once_data++;
}

static void x_atomic_wait()
{
	std::atomic<int> flag{0};
	two(
	    [&] {
		    x_waited = 1;
		    flag.store(1, std::memory_order_release);
		    flag.notify_one();
	    },
	    [&] {
		    flag.wait(0, std::memory_order_acquire);
		    x_waited++;
	    });
}

static void x_atomic_wait_relaxed()
{
	std::atomic<int> flag{0};
	two(
	    [&] {
		    x_waited_relaxed = 1;
		    flag.store(1, std::memory_order_relaxed);
	    },
	    [&] {
		    while (!flag.load(std::memory_order_relaxed))
			    std::this_thread::yield();
		    x_waited_relaxed++;
	    });
}

static void x_semaphore()
{
	std::binary_semaphore given(0), taken(0);
	two(
	    [&] {
		    for (int i = 0; i < 10; i++) {
			    x_queue_data = i;
			    given.release();
			    taken.acquire();
		    }
	    },
	    [&] {
		    for (int i = 0; i < 10; i++) {
			    given.acquire();
			    x_queue_data++;
			    taken.release();
		    }
	    });
}

static void x_semaphore_two()
{
	std::counting_semaphore<2> permits(2);
	std::atomic<int> in{0};
	auto work = [&] {
		permits.acquire();
		in.fetch_add(1, std::memory_order_relaxed);
		while (in.load(std::memory_order_relaxed) < 2)
			std::this_thread::yield();
		x_by_two++;
		permits.release();
	};
	two(work, work);
}

static void x_atomic_shared_ptr()
{
	std::atomic<std::shared_ptr<int>> newest(std::make_shared<int>(0));
	two(
	    [&] {
		    for (int i = 0; i < TURNS; i++)
			    newest.store(std::make_shared<int>(i));
	    },
	    [&] {
		    int sum = 0;
		    for (int i = 0; i < TURNS; i++)
			    sum += *newest.load();
		    x_queue_data = sum;
	    });
}

static void x_condition_stop()
{
	std::mutex m;
	std::condition_variable_any changed;
	bool ready = false;
	std::jthread a([&](std::stop_token stop) {
		std::unique_lock<std::mutex> l(m);
		if (changed.wait(l, stop, [&] { return ready; }))
			x_queue_data++;
	});
	{
		std::lock_guard<std::mutex> l(m);
		x_queue_data = 4;
		ready = true;
	}
	changed.notify_all();
}

static std::mutex local_lock;
struct counted {
	int n = 0;
	~counted()
	{
		std::lock_guard<std::mutex> l(local_lock);
		x_local_total += n;
	}
};
static void x_thread_local()
{
	auto work = [] {
		static thread_local counted of_thread;
		for (int i = 0; i < TURNS; i++)
			of_thread.n++;
	};
	two(work, work);
	x_local_total++;
}

struct uncounted {
	int n = 0;
	~uncounted()
	{
		x_local_plain += n;
	}
};
static void x_thread_local_plain()
{
	auto work = [] {
		static thread_local uncounted of_thread;
		of_thread.n++;
	};
	two(work, work);
}

static void x_timed_mutex()
{
	std::recursive_timed_mutex m;
	auto work = [&] {
		for (int i = 0; i < TURNS; i++)
			if (m.try_lock_for(std::chrono::seconds(10))) {
				std::scoped_lock again(m);
				x_timed++;
				m.unlock();
			}
	};
	two(work, work);
}

static void x_lock_two()
{
	std::mutex a, b;
	two([&] { for (int i = 0; i < TURNS; i++) { std::scoped_lock l(a, b); x_timed++; } },
	    [&] { for (int i = 0; i < TURNS; i++) { std::scoped_lock l(b, a); x_timed++; } });
}

#define X(name) {#name, "-", name}
#define XR(name, object) {#name, object, name}
extern "C" const struct test_case cases[] = {XR(x_latch_late, "x_after_count"), XR(x_barrier_drop, "x_dropped"), XR(x_jthread_early, "x_unjoined"), XR(x_future_late, "x_late_value"),
                                             XR(x_shared_write, "x_under_shared"), XR(x_atomic_wait_relaxed, "x_waited_relaxed"), XR(x_semaphore_two, "x_by_two"), XR(x_thread_local_plain, "x_local_plain"),
                                             X(x_latch), X(x_barrier), X(x_stop_handover), X(x_promise), X(x_packaged), X(x_async_throws), X(x_shared_upgraded), X(x_call_once_throw), X(x_atomic_wait),
                                             X(x_semaphore), X(x_atomic_shared_ptr), X(x_condition_stop), X(x_thread_local), X(x_timed_mutex), X(x_lock_two), {NULL, NULL, NULL}};
