package metrics

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

var (
	hello = types.NamespacedName{Namespace: "apps", Name: "hello"}
	world = types.NamespacedName{Namespace: "apps", Name: "world"}
	start = time.Unix(1000, 0)
)

// measured returns what a reader gets, as "name{attributes} value", sorted; of a histogram count and
// sum.
func measured(t *testing.T, r *sdk.ManualReader) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	say := func(name string, set attribute.Set, format string, args ...any) {
		out = append(out, name+"{"+set.Encoded(attribute.DefaultEncoder())+"} "+fmt.Sprintf(format, args...))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					say(m.Name, p.Attributes, "%d in %g s", p.Count, p.Sum)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					say(m.Name, p.Attributes, "%d", p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					say(m.Name, p.Attributes, "%d", p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	slices.Sort(out)
	return out
}

func instruments(t *testing.T) (*Instruments, *sdk.ManualReader) {
	t.Helper()
	reader := sdk.NewManualReader()
	i, err := New(sdk.NewMeterProvider(sdk.WithReader(reader)), func() (int, int) { return 3, 2 })
	if err != nil {
		t.Fatal(err)
	}
	i.now = func() time.Time { return start }
	return i, reader
}

func expect(t *testing.T, r *sdk.ManualReader, want ...string) {
	t.Helper()
	got := slices.DeleteFunc(measured(t, r), func(s string) bool { return strings.HasPrefix(s, "net_mesh.probes") })
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTimeToReady: once for each generation that was seen to come, from when it came; not for what was
// Ready before the controller began, nor for what is lost and found again.
func TestTimeToReady(t *testing.T) {
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for _, row := range []struct {
		name string
		see  []Seen // one a second
		want []string
	}{
		{"a new Ingress, from its creation", []Seen{{New: true, Generation: 1, Created: at(-3)}, {Generation: 1}, {Generation: 1, Ready: true, Proven: true}, {Generation: 1, Ready: true, Proven: true}},
			[]string{"net_mesh.ingress.ready.duration{mode=gateway,proof=proven} 1 in 5 s"}},
		{"a new generation, from when it is seen", []Seen{{Generation: 1, Ready: true}, {New: true, Generation: 2, Created: at(-999)}, {Generation: 2, Ready: true}},
			[]string{"net_mesh.ingress.ready.duration{mode=gateway,proof=assumed} 1 in 1 s"}},
		{"one after the other, of which the first is never Ready", []Seen{{New: true, Generation: 2}, {New: true, Generation: 3}, {Generation: 3, Ready: true, Proven: true}},
			[]string{"net_mesh.ingress.ready.duration{mode=gateway,proof=proven} 1 in 1 s"}},
		{"at once", []Seen{{New: true, Generation: 1, Ready: true, Created: at(-1)}}, []string{"net_mesh.ingress.ready.duration{mode=gateway,proof=assumed} 1 in 1 s"}},
		{"once, though the report of it could not be written", []Seen{{New: true, Generation: 1, Ready: true, Created: at(-1)}, {New: true, Generation: 1, Ready: true, Created: at(-1)}},
			[]string{"net_mesh.ingress.ready.duration{mode=gateway,proof=assumed} 1 in 1 s"}},
		{"Ready before", []Seen{{Generation: 1, Ready: true}}, nil},
		{"lost and found", []Seen{{Generation: 1, Ready: true}, {Generation: 1}, {Generation: 1, Ready: true}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			i, reader := instruments(t)
			for second, s := range row.see {
				i.now = func() time.Time { return at(second) }
				s.Ingress, s.Mode = hello, "gateway"
				i.See(t.Context(), s)
			}
			expect(t, reader, row.want...)
		})
	}
}

// TestWhatIsToldIsCounted by Ingress, once for each reason, as long as it is so.
func TestWhatIsToldIsCounted(t *testing.T) {
	i, reader := instruments(t)
	conflict, missing := finding.Finding{Reason: finding.HostConflict, Path: "a"}, finding.Finding{Reason: finding.SecretMissing}
	again := conflict
	again.Path = "b"
	i.See(t.Context(), Seen{Ingress: hello, Findings: []finding.Finding{conflict, again, missing}})
	i.See(t.Context(), Seen{Ingress: world, Findings: []finding.Finding{conflict}})
	expect(t, reader, "net_mesh.ingress.findings{reason=HostConflict,severity=Invalid} 2", "net_mesh.ingress.findings{reason=SecretMissing,severity=Pending} 1")
	i.See(t.Context(), Seen{Ingress: hello, Findings: []finding.Finding{missing}})
	i.Forget(world)
	expect(t, reader, "net_mesh.ingress.findings{reason=SecretMissing,severity=Pending} 1")
	i.See(t.Context(), Seen{Ingress: hello, New: true})
	expect(t, reader)
	i.Forget(hello)
	if len(i.found)+len(i.latest) > 0 {
		t.Errorf("%v and %v are kept", i.found, i.latest)
	}
}

func TestChangesTranslationsAndProbes(t *testing.T) {
	i, reader := instruments(t)
	i.Changed(t.Context(), "VirtualService", "Created")
	i.Changed(t.Context(), "VirtualService", "Created")
	i.Changed(t.Context(), "Secret", "Deleted")
	i.Translated(t.Context(), start.Add(-2*time.Second))
	want := []string{
		"net_mesh.objects.changes{change=Created,kind=VirtualService} 2",
		"net_mesh.objects.changes{change=Deleted,kind=Secret} 1",
		"net_mesh.probes.in_flight{at=gateway} 3",
		"net_mesh.probes.in_flight{at=sidecar} 2",
		"net_mesh.translate.duration{} 1 in 2 s",
	}
	if got := measured(t, reader); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWithoutInstruments: the loop runs without them.
func TestWithoutInstruments(t *testing.T) {
	var none *Instruments
	none.See(t.Context(), Seen{})
	none.Changed(t.Context(), "", "")
	none.Translated(t.Context(), start)
	none.Forget(hello)
}

func TestMode(t *testing.T) {
	gateway, mesh := []plan.Address{{DomainInternal: "h"}}, []plan.Address{{MeshOnly: true}}
	for want, p := range map[string]plan.Plan{
		"gateway": {Public: gateway, Private: gateway}, "half-mesh": {Public: gateway, Private: mesh},
		"local-only": {Public: mesh, Private: gateway}, "mesh-only": {Public: mesh, Private: mesh},
	} {
		if got := Mode(p); got != want {
			t.Errorf("Mode is %q, want %q", got, want)
		}
	}
}

// TestEveryInstrumentIsShown in the README and on the dashboard, by the name that Prometheus gives it,
// and nothing else is.
func TestEveryInstrumentIsShown(t *testing.T) {
	i, reader := instruments(t)
	i.See(t.Context(), Seen{Ingress: hello, New: true, Ready: true, Findings: []finding.Finding{{Reason: finding.HostConflict}}})
	i.Changed(t.Context(), "k", "c")
	i.Translated(t.Context(), start)
	suffix := map[string]string{"net_mesh.ingress.ready.duration": "_seconds", "net_mesh.translate.duration": "_seconds", "net_mesh.objects.changes": "_total"}
	names := map[string]bool{}
	for _, line := range measured(t, reader) {
		name, _, _ := strings.Cut(line, "{")
		names[strings.ReplaceAll(name, ".", "_")+suffix[name]] = true
	}
	mentioned := regexp.MustCompile(`net_mesh_[a-z_]+`)
	for _, file := range []string{"../../../README.md", "../../../config/monitoring/dashboard.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]bool{}
		for _, name := range mentioned.FindAllString(string(text), -1) {
			shown[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")] = true
		}
		if got, want := slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
			t.Errorf("%s shows %v, want %v", file, got, want)
		}
	}
}
