package ingress

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestTheLoopIsMeasured from the first look until the Ingress goes.
func TestTheLoopIsMeasured(t *testing.T) {
	reader := sdk.NewManualReader()
	ctx := startMeasured(t, sdk.NewMeterProvider(sdk.WithReader(reader)), map[string]string{"external-gateways": "[]", "local-gateways": "[]"}, "ingress", "revision")
	eventually(t, "it is Ready", func() bool { return condition(ctx, "Ready") == "True " })
	eventually(t, "that is measured", func() bool {
		got := measured(t, ctx, reader)
		return got["net_mesh.ingress.ready.duration{mode=mesh-only,proof=assumed}"] == 1 && got["net_mesh.translate.duration{}"] > 0 &&
			got["net_mesh.objects.changes{change=Created,kind=VirtualService}"] == 1 &&
			got["net_mesh.ingress.findings{reason=NoExternalEntry,severity=Info}"] == 1
	})
	deleteIngress(t, ctx, "hello")
	eventually(t, "nothing is told of what is gone", func() bool {
		_, told := measured(t, ctx, reader)["net_mesh.ingress.findings{reason=NoExternalEntry,severity=Info}"]
		return !told
	})
}

// measured returns values by name and attributes; of a histogram the count.
func measured(t *testing.T, ctx context.Context, r *sdk.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	key := func(name string, set attribute.Set) string {
		return name + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					out[key(m.Name, p.Attributes)] = int64(p.Count)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					out[key(m.Name, p.Attributes)] = p.Value
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					out[key(m.Name, p.Attributes)] = p.Value
				}
			}
		}
	}
	return out
}
