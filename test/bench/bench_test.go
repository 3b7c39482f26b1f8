// Package bench asks: how long does a translation take, and does it stay so when there is more of
// everything? "make bench" prints figures; the tests hold what can be told without a clock.
package bench

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// What one Ingress costs must not depend on how many others there are. Each iteration translates all
// Ingresses of the world.
func BenchmarkIngresses(b *testing.B) {
	for _, count := range []int{100, 1000, 10000} {
		for _, mode := range modes {
			b.Run(fmt.Sprintf("%d/%s", count, mode), func(b *testing.B) {
				measure(b, services(b, mode, count), count, "ingress")
			})
		}
	}
}

// What one host costs must not depend on how many others the Ingress has. Each iteration translates the one
// Ingress of the world.
func BenchmarkHosts(b *testing.B) {
	for _, count := range []int{1, 50, 500} {
		for _, mode := range modes {
			b.Run(fmt.Sprintf("%d/%s", count, mode), func(b *testing.B) {
				measure(b, manyHosts(b, mode, count), count, "host")
			})
		}
	}
}

// What one disputed host costs must not depend on how many others there are.
func BenchmarkRivals(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("%d/gateway", count), func(b *testing.B) {
			measure(b, rivals(b, "gateway", count), 2*count, "host")
		})
	}
}

// What a path costs must not depend on how many hosts the rule has, nor on how many other paths.
func BenchmarkPaths(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("%d/mesh-only", count), func(b *testing.B) {
			measure(b, manyPaths(b, "mesh-only", count), count, "path")
		})
	}
}

// measure translates a world, and reports time, memory and allocations for each of its count things. The
// processor's time, collection of garbage included, is the figure to compare where others use the machine too.
func measure(b *testing.B, w world, count int, thing string) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := processor(b)
	for b.Loop() {
		for i := range w.Ingresses {
			if len(w.translate(i).Objects.VirtualServices) == 0 {
				b.Fatal("nothing was translated")
			}
		}
	}
	used := processor(b) - start
	runtime.ReadMemStats(&after)
	n := float64(b.N) * float64(count)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/n, "µs/"+thing)
	b.ReportMetric(float64(used.Microseconds())/n, "cpu-µs/"+thing)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/"+thing)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n/1024, "KiB/"+thing)
	b.ReportMetric(0, "ns/op") // of a whole world it says nothing
}

// processor is the time that this process has had of the processors.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Memory grows with what there is and not with its square.
func TestMemoryIsFlat(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			few, many := services(t, mode, 10), services(t, mode, 200)
			alike(t, "one Ingress among 10 and among 200", perThing(few, 1, 0), perThing(many, 1, 0))
			alike(t, "each of 50 and of 500 hosts", perThing(manyHosts(t, mode, 50), 50, 0), perThing(manyHosts(t, mode, 500), 500, 0))
		})
	}
}

// perThing is how many bytes a translation of the Ingress at an index allocates, for each of its count things.
func perThing(w world, count, index int) float64 {
	const runs = 5
	w.translate(index)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range runs {
		w.translate(index)
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / runs / float64(count)
}

// alike allows what slices that grow may take more.
func alike(t *testing.T, what string, few, many float64) {
	t.Helper()
	if many > 1.5*few {
		t.Errorf("%s: %.0f and %.0f bytes, want no more than half as much again", what, few, many)
	}
}
