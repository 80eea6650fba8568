# C++ exceptions thrown across shared libraries, through threads, and where none catches.
. "$(dirname "$0")/lib.sh"
need g++
cat >thrower.cc <<'END'
#include <stdexcept>
#include <string>
struct Guard { int &n; Guard(int &c) : n(c) { n++; } ~Guard() { n--; } };
int live;
extern "C" int thrower(int d)
{
	Guard g(live);
	if (d == 0)
		throw std::runtime_error("thrown " + std::to_string(live));
	return thrower(d - 1) + 1;
}
extern "C" int calls_back(int (*f)(int), int n)
{
	Guard g(live);
	return f(n);
}
END
cat >main.cc <<'END'
#include <dlfcn.h>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <vector>
#include <stdexcept>
extern int live;
extern "C" int thrower(int), calls_back(int (*)(int), int);
struct Own : std::exception { int v; Own(int x) : v(x) {} };
static int back(int n) { if (n % 3 == 0) throw Own(n); return thrower(n % 7); }
static long loop(int rounds)
{
	long s = 0;
	for (int i = 0; i < rounds; i++) {
		try { s += calls_back(back, i); }
		catch (const Own &o) { s += o.v; }
		catch (const std::exception &e) { s += std::string(e.what()).size(); }
	}
	return s;
}
int main()
{
	std::cout << loop(3000) << " " << live << "\n";
	std::vector<std::future<long>> f;
	for (int i = 0; i < 4; i++)
		f.push_back(std::async(std::launch::async, [] { try { std::vector<int>().at(3); } catch (std::out_of_range &) { return 42L; } return 0L; }));
	for (auto &x : f) std::cout << x.get() << "\n";
	void *h = dlopen("./plugin.so", RTLD_NOW);
	try { ((void (*)())dlsym(h, "plugin"))(); } catch (int i) { std::cout << "plugin " << i << "\n"; }
	dlclose(h);
	std::set_terminate([] { std::cout << "terminated" << std::endl; _Exit(3); });
	std::thread([] { throw 1; }).join();
}
END
echo 'extern "C" void plugin() { throw 7; }' >plugin.cc
g++ -O2 -fPIC -shared -o libthrower.so thrower.cc && g++ -O2 -fPIC -shared -o plugin.so plugin.cc &&
	g++ -O2 -pthread -o main main.cc ./libthrower.so -Wl,-rpath,. -ldl || exit 1
batch -v ./main
finish
