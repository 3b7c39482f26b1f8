package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Control groups of either version tell the same; of a container that has none nothing is told.
func TestUsage(t *testing.T) {
	const id = "4472b6548e00"
	want := Usage{CPU: 1500 * time.Millisecond, Memory: 13651968}
	for name, row := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"version 2": {map[string]string{
			"lab/kubepods/burstable/pod1/" + id + "/cpu.stat":    "usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n",
			"lab/kubepods/burstable/pod1/" + id + "/memory.stat": "anon 13651968\nfile 8192\n",
			"lab/kubepods/burstable/pod1/other/cpu.stat":         "usage_usec 7\n",
		}, true},
		"version 1": {map[string]string{
			"cpuacct/lab/kubepods/pod1/" + id + "/cpuacct.usage": "1500000000\n",
			"cpu/lab/kubepods/pod1/" + id + "/cpu.stat":          "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
			"memory/lab/kubepods/pod1/" + id + "/memory.stat":    "cache 8192\nrss 13651968\nrss_huge 0\ntotal_rss 13651968\n",
		}, true},
		"no memory": {map[string]string{"lab/pod1/" + id + "/cpu.stat": "usage_usec 1500000\n"}, false},
		"another":   {map[string]string{"lab/pod1/other/cpu.stat": "usage_usec 1500000\n", "lab/pod1/other/memory.stat": "anon 1\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range row.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := usage([]string{root, filepath.Join(root, "no-such")}, id)
			if (err == nil) != row.want || (row.want && got != want) {
				t.Errorf("got %+v (%v), want %+v: %t", got, err, want, row.want)
			}
		})
	}
}
