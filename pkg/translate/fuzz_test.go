package translate_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// FuzzTranslate translates whatever can be read as a bundle: nothing panics, and
// the laws hold.
func FuzzTranslate(f *testing.F) {
	for _, file := range glob(f, "testdata/cases/*/in.yaml") {
		f.Add(read(f, file), uint8(0))
	}
	names := modes(f)
	worlds := make([][]byte, 0, len(names))
	for _, mode := range names {
		worlds = append(worlds, read(f, filepath.Join("testdata/modes", mode+".yaml")))
	}
	f.Fuzz(func(t *testing.T, bundle []byte, mode uint8) {
		b, err := snapshot.ReadBundle(worlds[int(mode)%len(worlds)], bundle)
		if err != nil {
			return
		}
		cfg, _, err := b.Config(clusterDomain, systemNamespace)
		if err != nil {
			return
		}
		for _, ing := range b.Ingresses {
			if len(validation.IsDNS1123Subdomain(ing.Name))+len(validation.IsDNS1123Label(ing.Namespace)) > 0 {
				// The API server lets no such name through.
				continue
			}
			r := translate.Ingress(snapshot.Ingress(b, cfg, ing))
			for _, broken := range breaches(r) {
				t.Error(broken)
			}
		}
	})
}

// BenchmarkTranslate measures one Ingress of a Route with so many tags.
func BenchmarkTranslate(b *testing.B) {
	for _, tags := range []int{0, 10, 100} {
		for _, mode := range []string{"gateway", "mesh-only"} {
			b.Run(fmt.Sprintf("%s/%d-tags", mode, tags), func(b *testing.B) {
				world, cfg := load(b, "testdata/cases/serving-tags", mode)
				ing := tagged(world.Ingresses[0], tags)
				b.ReportAllocs()
				for b.Loop() {
					translate.Ingress(snapshot.Ingress(world, cfg, ing))
				}
			})
		}
	}
}

// tagged keeps the two rules of the route itself and adds two for each tag.
func tagged(ing *v1alpha1.Ingress, tags int) *v1alpha1.Ingress {
	out := ing.DeepCopy()
	out.Spec.Rules = out.Spec.Rules[:2]
	for i := range tags {
		for _, rule := range ing.Spec.Rules[:2] {
			r := rule.DeepCopy()
			for j, h := range r.Hosts {
				r.Hosts[j] = fmt.Sprintf("tag%d-%s", i, h)
			}
			r.HTTP.Paths[0].AppendHeaders = map[string]string{"Knative-Serving-Tag": fmt.Sprint("tag", i)}
			out.Spec.Rules = append(out.Spec.Rules, *r)
		}
	}
	return out
}
