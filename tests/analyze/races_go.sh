# races of Go programs: what goroutines hand over by channels, locks, wait groups and atomic variables is no race, what the runtime does within is left out, and a counter without a lock is told.
. "$(dirname "$0")/../lib.sh"
command -v go >/dev/null || { untested "programs that Go has made, without go"; exit 0; }

mkdir right racy
cat >right/main.go <<'END'
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type node struct {
	val  int
	text string
}

var once sync.Once
var made []int
var rw sync.RWMutex
var table = map[string]int{}
var counter int64
var pool = sync.Pool{New: func() interface{} { return new(strings.Builder) }}

func get() []int {
	once.Do(func() { made = []int{1, 2, 3} })
	return made
}

func pipeline() (sum int) {
	a, b := make(chan *node), make(chan *node, 3)
	go func() {
		for i := 0; i < 200; i++ {
			a <- &node{i, fmt.Sprint(i)}
		}
		close(a)
	}()
	go func() {
		for n := range a {
			n.val *= 2
			n.text += "x"
			b <- n
		}
		close(b)
	}()
	for n := range b {
		sum += n.val + len(n.text)
	}
	return
}

func workers() (sum int) {
	var wg sync.WaitGroup
	results := make([]int, 4)
	for i := range results {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for k := 0; k < 100; k++ {
				rw.Lock()
				table[fmt.Sprint(k)]++
				rw.Unlock()
				rw.RLock()
				results[i] += table[fmt.Sprint(k/2)] / 1000
				rw.RUnlock()
				atomic.AddInt64(&counter, 1)
				b := pool.Get().(*strings.Builder)
				b.Reset()
				b.WriteString("hello")
				results[i] += len(b.String()) + len(get())
				pool.Put(b)
			}
		}(i)
	}
	wg.Wait()
	for _, r := range results {
		sum += r
	}
	return
}

func condition() int {
	var mu sync.Mutex
	c, queue, done := sync.NewCond(&mu), []int{}, make(chan int)
	go func() {
		s := 0
		for i := 0; i < 100; i++ {
			mu.Lock()
			for len(queue) == 0 {
				c.Wait()
			}
			s += queue[0]
			queue = queue[1:]
			mu.Unlock()
		}
		done <- s
	}()
	for i := 0; i < 100; i++ {
		mu.Lock()
		queue = append(queue, i)
		mu.Unlock()
		c.Signal()
	}
	return <-done
}

var ready int32
var box atomic.Value
var data [2]int

func flags() int {
	go func() {
		data[0] = 42
		atomic.StoreInt32(&ready, 1)
	}()
	for atomic.LoadInt32(&ready) == 0 {
		runtime.Gosched()
	}
	go func() { box.Store(&node{val: 7}) }()
	for {
		if n, ok := box.Load().(*node); ok {
			return data[0] + n.val
		}
		time.Sleep(time.Millisecond)
	}
}

// What compares bytes reads some behind them, too.
func neighbours() (equal int) {
	word, other, n := make([]byte, 16), []byte("abc"), len(os.Args)+2
	copy(word, other)
	var wg sync.WaitGroup
	both := make(chan int)
	wg.Add(2)
	go func() {
		defer wg.Done()
		runtime.LockOSThread()
		both <- 0
		for i := 0; i < 1000; i++ {
			if bytes.Equal(word[:n], other[:n]) {
				equal++
			}
		}
	}()
	go func() {
		defer wg.Done()
		runtime.LockOSThread()
		<-both
		for i := 0; i < 1000; i++ {
			word[n+i%4]++
		}
	}()
	wg.Wait()
	return
}

func main() {
	fmt.Println(pipeline(), workers(), condition(), flags(), neighbours(), counter)
}
END
cat >racy/main.go <<'END'
package main

import (
	"fmt"
	"sync"
)

var locked, bare int
var mu sync.Mutex

func work(in <-chan int, out chan<- int, wg *sync.WaitGroup) {
	defer wg.Done()
	for v := range in {
		mu.Lock()
		locked += v
		mu.Unlock()
		bare++
		out <- v
	}
}

func main() {
	in, out, done := make(chan int), make(chan int, 10), make(chan int)
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go work(in, out, &wg)
	}
	go func() {
		s := 0
		for v := range out {
			s += v
		}
		done <- s
	}()
	for i := 0; i < 2000; i++ {
		in <- i
	}
	close(in)
	wg.Wait()
	close(out)
	fmt.Println(<-done, locked, bare > 0)
}
END
for p in right racy; do
	printf 'module %s\n' $p >$p/go.mod
	(cd $p && HOME=$OLDPWD GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local go build -o ../$p.program .) >build.out 2>&1 || { untested "programs that Go has made: go build fails here"; exit 0; }
done

# told PROGRAM: what is raced on in a run of it
told() {
	./$1.program >expected || fail "$1 natively"
	"$TW" record -q --calls --order -o $1.tw -- ./$1.program >out 2>err || fail "$1: $(cat err)"
	cmp -s expected out || fail "$1: other output: $(cat out)"
	"$TW" analyze races --csv $1.tw >$1.csv 2>err || fail "$1: $(cat err)"
	awk -F, '$3 == "object" { print $NF }' $1.csv
}
for _ in 1 2; do
	told right >objects
	[ -s objects ] && fail "a program without a race: $(cat right.csv)"
done
# Goroutines that happen to run on one thread are in order.
for _ in 1 2 3 4 5; do
	told racy >objects
	[ -s objects ] && break
done
[ "$(sort -u objects)" = main.bare ] || fail "a counter without a lock: $(cat racy.csv)"
