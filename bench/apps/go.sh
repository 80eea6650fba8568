# A Go program: goroutines over several threads, channels, the garbage collector, preemption by signals, nil dereferences recovered, a child process.
. "$(dirname "$0")/lib.sh"
need go
cat >main.go <<'END'
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

type node struct{ l, r *node }

func tree(d int) *node {
	if d == 0 {
		return &node{}
	}
	return &node{tree(d - 1), tree(d - 1)}
}
func (n *node) count() int {
	if n.l == nil {
		return 1
	}
	return 1 + n.l.count() + n.r.count()
}
func caught(k int) (s string) {
	defer func() {
		if r := recover(); r != nil {
			s = fmt.Sprint(r)
		}
	}()
	var p *node
	if k%2 == 0 {
		return fmt.Sprint(p.l)
	}
	z := []int{1, 2}
	return fmt.Sprint(z[k%5+2])
}
func main() {
	runtime.GOMAXPROCS(4)
	var wg sync.WaitGroup
	var total int64
	jobs := make(chan int)
	for w := 0; w < 200; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range jobs {
				atomic.AddInt64(&total, int64(tree(j%10).count()+len(caught(j))))
			}
		}()
	}
	for j := 0; j < 5000; j++ {
		jobs <- j
	}
	close(jobs)
	stop := make(chan bool)
	go func() { // a loop without calls: only a signal gets it off its thread
		for x := uint64(0); x < 300000000; x++ {
		}
		close(stop)
	}()
	runtime.GC()
	<-stop
	wg.Wait()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	words := strings.Fields(strings.Repeat("the quick brown fox ", 20000))
	sort.Strings(words)
	fmt.Fprint(z, words)
	z.Close()
	out, err := exec.Command("/bin/echo", "child").CombinedOutput()
	fmt.Printf("%d %d %x %s %v %s\n", total, b.Len(), sha256.Sum256(b.Bytes()), strings.TrimSpace(string(out)), err, caught(2))
}
END
GOCACHE=$WORK/cache GOFLAGS=-mod=mod GO111MODULE=off go build -o goprogram main.go 2>build.err || {
	cat build.err
	exit 1
}
batch -v ./goprogram
finish
