# Java: HotSpot with threads, locks, exceptions (implicit ones too, which are faults in compiled code), classes made at run time, garbage collection.
. "$(dirname "$0")/lib.sh"
need java javac
cat >Work.java <<'END'
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.function.*;

public class Work {
	static int depth(int n) {
		if (n == 0)
			throw new IllegalStateException("deep");
		return depth(n - 1) + 1;
	}
	static long faults(int rounds) {
		long s = 0;
		int[] a = new int[10];
		for (int i = 0; i < rounds; i++) {
			try { Object o = i % 3 == 0 ? null : "x"; s += o.hashCode(); } catch (NullPointerException e) { s += 10; }
			try { s += a[i % 11]; } catch (ArrayIndexOutOfBoundsException e) { s += 100; }
			try { s += 7 / (i % 5); } catch (ArithmeticException e) { s += 1000; }
			if (i % 50 == 0) try { depth(30); } catch (IllegalStateException e) { s++; }
		}
		return s;
	}
	static long task(int k, int n) {
		Map<String, Integer> m = new HashMap<>();
		long s = 0;
		for (int i = 0; i < n; i++) {
			m.merge("k" + (i % 1000), i, Integer::sum);
			int[] g = new int[100 + i % 1000];
			g[i % 100] = i;
			s += g[i % 100];
		}
		List<Integer> l = new ArrayList<>(m.values());
		Collections.sort(l);
		return s + l.get(l.size() / 2) + k + faults(n / 10);
	}
	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[0]);
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Long>> all = new ArrayList<>();
		for (int t = 0; t < 8; t++) {
			final int k = t;
			all.add(pool.submit(() -> task(k, n)));
		}
		long total = 0;
		for (Future<Long> f : all)
			total += f.get();
		pool.shutdown();
		final long[] shared = {0};
		AtomicLong counter = new AtomicLong();
		Thread[] threads = new Thread[50];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				for (int j = 0; j < 200; j++) { synchronized (shared) { shared[0]++; } counter.incrementAndGet(); }
			});
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
		System.gc();
		IntFunction<IntUnaryOperator> make = x -> y -> x * y;
		System.out.println(total + " " + shared[0] + " " + counter.get() + " " + make.apply(6).applyAsInt(7));
	}
}
END
javac Work.java || exit 1
batch java -XX:-UsePerfData Work 200000
finish
