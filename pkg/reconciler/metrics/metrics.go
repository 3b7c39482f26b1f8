// Package metrics answers: how is the controller doing? It holds the instruments of the loop, by
// OpenTelemetry as Knative sets it up (config-observability says where to). The README lists them.
package metrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// scope names who measures.
const scope = "github.com/net-mesh/net-mesh"

// Bounds of the histograms, in seconds. Sidecars and gateways get their routes within some seconds;
// a translation takes far less than a millisecond, unless an Ingress has thousands of hosts.
var (
	readyBounds     = []float64{.25, .5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300}
	translateBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5}
)

// Instruments measure the loop. All methods of a nil one do nothing.
type Instruments struct {
	ready, translate metric.Float64Histogram
	objects          metric.Int64Counter
	now              func() time.Time

	mu sync.Mutex
	// latest are the generations that were seen to come, and found what is told of whom.
	latest map[types.NamespacedName]generation
	found  map[types.NamespacedName][]finding.Reason
}

// generation is one of an Ingress, since when it is known, and whether its time has been measured.
type generation struct {
	number   int64
	since    time.Time
	measured bool
}

// New makes the instruments of a provider. inFlight says how many probes are under way at gateways
// and at sidecars; it is called with each collection.
func New(provider metric.MeterProvider, inFlight func() (gateways, sidecars int)) (*Instruments, error) {
	i := &Instruments{now: time.Now, latest: map[types.NamespacedName]generation{}, found: map[types.NamespacedName][]finding.Reason{}}
	meter := provider.Meter(scope)
	var errs [5]error
	i.ready, errs[0] = meter.Float64Histogram("net_mesh.ingress.ready.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(readyBounds...),
		metric.WithDescription("From when a generation of an Ingress is seen until it is Ready, by mode and by whether that is proven or assumed."))
	i.translate, errs[1] = meter.Float64Histogram("net_mesh.translate.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(translateBounds...),
		metric.WithDescription("Gathering and translating one Ingress."))
	i.objects, errs[2] = meter.Int64Counter("net_mesh.objects.changes", metric.WithUnit("{change}"),
		metric.WithDescription("Objects written and deleted, by kind and change."))
	_, errs[3] = meter.Int64ObservableGauge("net_mesh.ingress.findings", metric.WithUnit("{ingress}"), metric.WithInt64Callback(i.findings),
		metric.WithDescription("Ingresses of which something is told, by reason and severity."))
	_, errs[4] = meter.Int64ObservableGauge("net_mesh.probes.in_flight", metric.WithUnit("{request}"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			gateways, sidecars := inFlight()
			o.Observe(int64(gateways), metric.WithAttributes(attribute.String("at", "gateway")))
			o.Observe(int64(sidecars), metric.WithAttributes(attribute.String("at", "sidecar")))
			return nil
		}), metric.WithDescription("Probes under way, by where they are asked."))
	return i, errors.Join(errs[:]...)
}

// Translated takes down what a translation took since a moment.
func (i *Instruments) Translated(ctx context.Context, since time.Time) {
	if i != nil {
		i.translate.Record(ctx, i.now().Sub(since).Seconds())
	}
}

// Changed counts a change of an object.
func (i *Instruments) Changed(ctx context.Context, kind, change string) {
	if i != nil {
		i.objects.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind), attribute.String("change", change)))
	}
}

// Seen is one look at an Ingress.
type Seen struct {
	Ingress    types.NamespacedName
	Generation int64
	// New: nobody has reported on the generation before. Created is when the Ingress was made, from
	// where the time of the first generation counts.
	New     bool
	Created time.Time
	// Ready, in which Mode, and whether that is proven.
	Ready, Proven bool
	Mode          string
	Findings      []finding.Finding
}

// See takes down how an Ingress is doing. The time until it is Ready is measured once for each
// generation that the controller has seen come.
func (i *Instruments) See(ctx context.Context, s Seen) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told(s)
	latest, known := i.latest[s.Ingress]
	if s.New && (!known || latest.number != s.Generation) {
		latest, known = generation{number: s.Generation, since: i.now()}, true
		if s.Generation == 1 && !s.Created.IsZero() {
			latest.since = s.Created
		}
	}
	if !known || latest.number != s.Generation || latest.measured {
		// Ready before the controller began, or twice: what was reported may not have been written.
		return
	}
	if s.Ready {
		latest.measured = true
		i.ready.Record(ctx, i.now().Sub(latest.since).Seconds(), metric.WithAttributes(attribute.String("mode", s.Mode), attribute.String("proof", proof(s.Proven))))
	}
	i.latest[s.Ingress] = latest
}

func (i *Instruments) told(s Seen) {
	var reasons []finding.Reason
	met := map[finding.Reason]bool{}
	for _, f := range s.Findings {
		if !met[f.Reason] {
			met[f.Reason] = true
			reasons = append(reasons, f.Reason)
		}
	}
	if reasons == nil {
		delete(i.found, s.Ingress)
		return
	}
	i.found[s.Ingress] = reasons
}

func proof(proven bool) string {
	if proven {
		return "proven"
	}
	return "assumed"
}

// Forget drops what is known of an Ingress that goes.
func (i *Instruments) Forget(ingress types.NamespacedName) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.latest, ingress)
	delete(i.found, ingress)
}

func (i *Instruments) findings(_ context.Context, o metric.Int64Observer) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	count := map[finding.Reason]int64{}
	for _, reasons := range i.found {
		for _, reason := range reasons {
			count[reason]++
		}
	}
	for reason, n := range count {
		o.Observe(n, metric.WithAttributes(attribute.String("reason", string(reason)), attribute.String("severity", string(reason.Entry().Severity))))
	}
	return nil
}

// Mode names the mode of a Plan, as the command line does.
func Mode(p plan.Plan) string {
	external, local := atGateways(p.Public), atGateways(p.Private)
	switch {
	case external && local:
		return "gateway"
	case external:
		return "half-mesh"
	case local:
		return "local-only"
	}
	return "mesh-only"
}

func atGateways(addresses []plan.Address) bool { return len(addresses) > 0 && !addresses[0].MeshOnly }
