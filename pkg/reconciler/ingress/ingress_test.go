package ingress

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgotesting "k8s.io/client-go/testing"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	. "knative.dev/pkg/reconciler/testing"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/loopback"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
)

// Both gateways of the shipped configuration; none for cluster-local hosts, nor anything in place of
// it; and sidecars that answer DNS.
var (
	gateways   = map[string]string{}
	halfMesh   = map[string]string{"local-gateways": "[]", "loopback": "false"}
	named      = map[string]string{"external-in-mesh": "true", "mesh-dns": "true"}
	delegating = map[string]string{"delegates": "true"}
)

// seen stands in for the data plane.
type seen struct {
	state readiness.State
	err   error
}

func (s seen) Check(_ context.Context, _ *v1alpha1.Ingress, p plan.Plan) (readiness.State, error) {
	if s.state.Ready {
		return s.Known(p), nil
	}
	return s.state, s.err
}

// Known is that nobody can be asked about the mesh.
func (seen) Known(p plan.Plan) readiness.State { return (&readiness.Checker{}).Known(p) }

func (seen) Anew(types.NamespacedName)   {}
func (seen) Forget(types.NamespacedName) {}

var (
	proven  = seen{state: readiness.State{Ready: true}}
	waiting = seen{state: readiness.State{Waiting: []string{"the gateway to serve it"}}}
	begun   = seen{state: readiness.State{Waiting: waiting.state.Waiting, Fresh: true}}
)

// TestReconcile states what the loop does in a given world. Worlds and wishes are written
// by hand in testdata; ${HASH} stands for Knative's hash of the Ingress.
func TestReconcile(t *testing.T) {
	const key = "apps/hello"
	table := []struct {
		name    string
		world   string // file of objects that exist
		config  map[string]string
		seen    seen
		gate    gate   // nil: open
		creates string // file of objects to be created
		updates string // file of objects to be updated
		deletes []clientgotesting.DeleteActionImpl
		status  string // file with the Ingress as it is to be reported
		events  []string
		fail    clientgotesting.ReactionFunc
		wantErr bool
	}{{
		name: "a new Ingress is written, and awaited", world: "new", config: gateways, seen: waiting,
		creates: "objects", status: "awaited",
		events: []string{
			"Normal Created Created VirtualService apps/hello-ingress",
			"Normal Created Created VirtualService apps/hello-local",
			"Normal Created Created VirtualService apps/hello-mesh",
		},
	}, {
		name: "a public host of the mesh gets a name there after its routes", world: "new", config: named, seen: waiting,
		creates: "objects-named", status: "awaited",
		events: []string{
			"Normal Created Created VirtualService apps/hello-ingress",
			"Normal Created Created VirtualService apps/hello-local",
			"Normal Created Created VirtualService apps/hello-mesh",
			"Normal Created Created ServiceEntry apps/hello-dns",
		},
	}, {
		name: "a name that is not asked for any more goes when all is proven", world: "named", config: gateways, seen: proven,
		deletes: []clientgotesting.DeleteActionImpl{deletion("networking.istio.io", "serviceentries", "apps", "hello-dns")},
		events:  []string{"Normal Deleted Deleted ServiceEntry apps/hello-dns"},
	}, {
		name: "delegates are written when they are asked for, and nothing else changes", world: "steady", config: delegating, seen: proven,
		creates: "objects-delegate", events: []string{"Normal Created Created VirtualService apps/hello-delegate"},
	}, {
		name: "one that is there and wanted stays as it is", world: "delegated", config: delegating, seen: waiting,
	}, {
		name: "one that is not asked for any more goes when all is proven", world: "delegated", config: gateways, seen: proven,
		deletes: []clientgotesting.DeleteActionImpl{deletion("networking.istio.io", "virtualservices", "apps", "hello-delegate")},
		events:  []string{"Normal Deleted Deleted VirtualService apps/hello-delegate"},
	}, {
		name: "and not before", world: "delegated", config: gateways, seen: proven, gate: shut{},
	}, {
		name: "a delegate that somebody wants is told of, and Ready stays", world: "rooted", config: gateways, seen: waiting, status: "rooted-status",
		events: []string{"Warning DelegateMissing " + wanting},
	}, {
		name: "once, and not each time", world: "rooted-told", config: gateways, seen: waiting,
	}, {
		name: "and no longer when nobody does", world: "unrooted", config: gateways, seen: waiting, status: "ready",
	}, {
		name: "what a new Ingress awaits since a moment is not told of yet", world: "new", config: gateways, seen: begun,
		creates: "objects",
		events: []string{
			"Normal Created Created VirtualService apps/hello-ingress",
			"Normal Created Created VirtualService apps/hello-local",
			"Normal Created Created VirtualService apps/hello-mesh",
		},
	}, {
		name: "what one awaits that was told of before is told at once", world: "steady", config: map[string]string{
			"external-gateways": "- {namespace: knative-serving, name: other, service: other.istio-system.svc.cluster.local}",
		}, seen: begun, updates: "widened", status: "moving",
		events: []string{"Normal Updated Updated VirtualService apps/hello-ingress"},
	}, {
		name: "a status that is not taken is an error", world: "written", config: gateways, seen: proven, status: "ready",
		fail: InduceFailure("update", "ingresses"), wantErr: true,
		events: []string{"Warning InternalError cannot write the status: inducing failure for update ingresses"},
	}, {
		name: "what is proven is published", world: "written", config: gateways, seen: proven, status: "ready",
	}, {
		name: "where nothing is to be done nothing is done", world: "steady", config: gateways, seen: waiting,
	}, {
		name: "Ready stays while a new way is awaited, and the old one too", world: "steady", config: map[string]string{
			"external-gateways": "- {namespace: knative-serving, name: other, service: other.istio-system.svc.cluster.local}",
		}, seen: waiting, updates: "widened", status: "moving",
		events: []string{"Normal Updated Updated VirtualService apps/hello-ingress"},
	}, {
		name: "what is not asked for goes, and nothing else, while a gateway is misspelt", world: "withdrawn", config: map[string]string{
			"external-gateways": "- {namespace: knative-serving, name: other, service: misspelt.istio-system.svc.cluster.local}",
		}, seen: waiting, updates: "widened", status: "misspelt",
		deletes: []clientgotesting.DeleteActionImpl{deletion("networking.istio.io", "virtualservices", "apps", "hello-ingress-0a1b2c3d")},
		events: []string{
			"Normal Updated Updated VirtualService apps/hello-ingress",
			"Normal Deleted Deleted VirtualService apps/hello-ingress-0a1b2c3d",
			"Normal GatewayServiceMissing Service istio-system/misspelt of gateway knative-serving/other in config-istio does not exist; create it or correct the ConfigMap",
		},
	}, {
		name: "Ready stays while a gateway is misspelt, be its Service the same", world: "steady", config: map[string]string{
			"external-gateways": "- {namespace: knative-serving, name: misspelt, service: istio-ingressgateway.istio-system.svc.cluster.local}",
		}, seen: waiting, updates: "widened-misspelt", status: "misspelt-name",
		events: []string{
			"Normal Updated Updated VirtualService apps/hello-ingress",
			"Normal GatewayMissing Gateway knative-serving/misspelt of config-istio does not exist; create it or correct the ConfigMap",
		},
	}, {
		name: "Ready goes when the gateways that served are gone", world: "gateway-gone", config: gateways, seen: waiting, status: "gateways-gone",
		events: []string{
			"Normal GatewayMissing Gateway knative-serving/knative-ingress-gateway of config-istio does not exist; create it or correct the ConfigMap",
			"Normal GatewayMissing Gateway knative-serving/knative-local-gateway of config-istio does not exist; create it or correct the ConfigMap",
			"Normal GatewayServiceMissing Service istio-system/istio-ingressgateway of gateway knative-serving/knative-ingress-gateway in config-istio does not exist; create it or correct the ConfigMap",
			"Normal GatewayServiceMissing Service istio-system/knative-local-gateway of gateway knative-serving/knative-local-gateway in config-istio does not exist; create it or correct the ConfigMap",
		},
	}, {
		name: "a host that an older Ingress comes to claim is given up at once", world: "claimed", config: gateways, seen: waiting, status: "given-up",
		deletes: []clientgotesting.DeleteActionImpl{deletion("networking.istio.io", "virtualservices", "apps", "hello-ingress")},
		events: []string{
			"Normal Deleted Deleted VirtualService apps/hello-ingress",
			"Warning HostConflict host hello.example.com is not served at the external gateways: Ingress shop/first claims it too, is older and has it there; use another host, or remove it from that Ingress",
		},
	}, {
		name: "who lost a host takes it over as soon as the other is being deleted", world: "released", config: gateways, seen: waiting,
		creates: "objects-ingress", status: "taken-over",
		events: []string{"Normal Created Created VirtualService apps/hello-ingress"},
	}, {
		name: "an address is flipped before the old way is taken away", world: "steady", config: halfMesh, seen: proven, status: "half-mesh",
	}, {
		name: "once the address is published the old way is taken away", world: "flipped", config: halfMesh, seen: proven,
		deletes: []clientgotesting.DeleteActionImpl{deletion("networking.istio.io", "virtualservices", "apps", "hello-local")},
		events:  []string{"Normal Deleted Deleted VirtualService apps/hello-local"},
	}, {
		name: "but not while sidecars are still on the way to or from a loopback", world: "flipped", config: halfMesh, seen: proven,
		gate: shut{},
	}, {
		name: "where nothing is left nobody is held back", world: "steady", config: gateways, seen: proven,
		gate: shut{}, status: "",
	}, {
		name: "who no longer uses a certificate that others share leaves it to them", world: "shared", config: gateways, seen: proven,
		updates: "shared-left",
	}, {
		name: "the last to use a shared certificate takes it away", world: "shared-last", config: gateways, seen: proven,
		deletes: []clientgotesting.DeleteActionImpl{
			deletion("networking.istio.io", "gateways", "apps", "wildcard-25ef0f47"),
			deletion("", "secrets", "istio-system", "apps--wild-wildcard"),
		},
		events: []string{"Normal Deleted Deleted Gateway apps/wildcard-25ef0f47", "Normal Deleted Deleted Secret istio-system/apps--wild-wildcard"},
	}, {
		name: "nobody leaves before the new way is proven", world: "shared", config: map[string]string{
			"external-gateways": "- {namespace: knative-serving, name: other, service: other.istio-system.svc.cluster.local}",
		}, seen: waiting, updates: "widened", status: "moving",
		events: []string{"Normal Updated Updated VirtualService apps/hello-ingress"},
	}, {
		name: "net-istio's objects are adopted", world: "net-istio", config: gateways, seen: waiting,
		creates: "objects-local", updates: "adopted", status: "adopted-status",
		events: []string{
			"Normal Created Created VirtualService apps/hello-local",
			"Normal Updated Updated VirtualService apps/hello-ingress",
			"Normal Updated Updated VirtualService apps/hello-mesh",
		},
	}, {
		name: "somebody else's object is left alone, and named", world: "foreign", config: gateways, seen: waiting,
		creates: "objects-without-ingress", status: "not-owned",
		events: []string{
			"Normal Created Created VirtualService apps/hello-local",
			"Normal Created Created VirtualService apps/hello-mesh",
			"Warning NotOwned VirtualService apps/hello-ingress exists and belongs to somebody else; delete or rename it, so that it can be written for this Ingress",
		},
	}, {
		name: "a refusal of the API is shown in its own words", world: "new", config: gateways, seen: waiting,
		creates: "objects", fail: InduceFailure("create", "virtualservices"), status: "api-failed", wantErr: true,
		events: []string{"Warning InternalError " + refusal("hello-ingress") + "\n" + refusal("hello-local") + "\n" + refusal("hello-mesh")},
	}, {
		name: "an object that is there, and not in the cache yet, concerns nobody", world: "new", config: gateways, seen: waiting,
		creates: "objects", fail: there, wantErr: true,
	}, {
		name: "a failing observation is shown in its own words", world: "written", config: gateways,
		seen: seen{err: errors.New("no way to ask")}, status: "observe-failed", wantErr: true,
		events: []string{"Warning InternalError no way to ask"},
	}, {
		name: "without a usable configuration nothing is touched", world: "steady",
		config: map[string]string{"local-gateways": "nonsense: true"}, seen: waiting, status: "unconfigured",
	}, {
		name: "an Ingress of another class is not ours", world: "other-class", config: gateways, seen: waiting,
	}, {
		name: "a deleted Ingress takes everything along", world: "deleted", config: gateways, seen: waiting,
		deletes: []clientgotesting.DeleteActionImpl{
			deletion("networking.istio.io", "serviceentries", "apps", "hello-dns"),
			deletion("networking.istio.io", "virtualservices", "apps", "hello-ingress"),
			deletion("networking.istio.io", "virtualservices", "apps", "hello-mesh"),
			deletion("networking.istio.io", "gateways", "apps", "hello-123"),
			deletion("", "secrets", "istio-system", "hello-8d1b1e2a-0000-4000-8000-000000000001"),
			deletion("", "secrets", "gateways", "hello-8d1b1e2a-0000-4000-8000-000000000002"),
		},
		events: []string{
			"Normal Deleted Deleted ServiceEntry apps/hello-dns",
			"Normal Deleted Deleted VirtualService apps/hello-ingress",
			"Normal Deleted Deleted VirtualService apps/hello-mesh",
			"Normal Deleted Deleted Gateway apps/hello-123",
			"Normal Deleted Deleted Secret gateways/hello-8d1b1e2a-0000-4000-8000-000000000002",
			"Normal Deleted Deleted Secret istio-system/hello-8d1b1e2a-0000-4000-8000-000000000001",
			`Normal FinalizerUpdate Updated "hello" finalizers`,
		},
	}, {
		name: "a Secret that may not be deleted does not hold a deleted Ingress", world: "deleted", config: gateways, seen: waiting,
		fail: forbidden("gateways"),
		deletes: []clientgotesting.DeleteActionImpl{
			deletion("networking.istio.io", "serviceentries", "apps", "hello-dns"),
			deletion("networking.istio.io", "virtualservices", "apps", "hello-ingress"),
			deletion("networking.istio.io", "virtualservices", "apps", "hello-mesh"),
			deletion("networking.istio.io", "gateways", "apps", "hello-123"),
			deletion("", "secrets", "istio-system", "hello-8d1b1e2a-0000-4000-8000-000000000001"),
			deletion("", "secrets", "gateways", "hello-8d1b1e2a-0000-4000-8000-000000000002"),
		},
		events: []string{
			"Normal Deleted Deleted ServiceEntry apps/hello-dns",
			"Normal Deleted Deleted VirtualService apps/hello-ingress",
			"Normal Deleted Deleted VirtualService apps/hello-mesh",
			"Normal Deleted Deleted Gateway apps/hello-123",
			"Warning Rejected Secret gateways/hello-8d1b1e2a-0000-4000-8000-000000000002 is labelled as a copy made for this Ingress, but namespace gateways may not be written. " +
				"If it is a copy, delete it, or bind ClusterRole net-mesh-secret-copies there; if not, remove its label networking.internal.knative.dev/originSecretNamespace",
			"Normal Deleted Deleted Secret istio-system/hello-8d1b1e2a-0000-4000-8000-000000000001",
			`Normal FinalizerUpdate Updated "hello" finalizers`,
		},
	}}
	for _, row := range table {
		world := read(t, row.world)
		tr := TableRow{
			Name: row.name, Key: key, Objects: world, WantDeletes: row.deletes, WantEvents: row.events,
			WantCreates: read(t, row.creates), WantErr: row.wantErr, SkipNamespaceValidation: true,
			CmpOpts: []cmp.Option{cmp.Comparer(equalVirtualServices), cmp.Comparer(equalGateways), cmp.Comparer(equalServiceEntries)},
		}
		for _, o := range read(t, row.updates) {
			tr.WantUpdates = append(tr.WantUpdates, clientgotesting.UpdateActionImpl{Object: o})
		}
		if row.status != "" {
			tr.WantStatusUpdates = []clientgotesting.UpdateActionImpl{{Object: reported(t, world, row.status)}}
		}
		if row.fail != nil {
			tr.WithReactors = append(tr.WithReactors, row.fail)
		}
		if row.world == "deleted" {
			tr.WantPatches = []clientgotesting.PatchActionImpl{finalizerGone()}
		}
		if row.gate == nil {
			row.gate = loopback.OpenGate()
		}
		TableTest{tr}.Test(t, gated(row.config, row.seen, row.gate))
	}
}

// wanting is told of the root of testdata.
const wanting = `VirtualService clients/models spec.http[0] delegates to apps/hello-delegate, which is not there, so Istio leaves this route out; ` +
	`ask for it by the annotation net-mesh.dev/delegate: "true" of the Service, Route or DomainMapping of Ingress apps/hello, or by delegates: "true" in config-istio, or remove the route`

// there: VirtualServices are made already, and no cache knows.
func there(action clientgotesting.Action) (bool, runtime.Object, error) {
	if !action.Matches("create", "virtualservices") {
		return false, nil, nil
	}
	return true, nil, apierrs.NewAlreadyExists(schema.GroupResource{Resource: "virtualservices"}, "hello")
}

// shut holds back.
type shut struct{}

func (shut) Settled(bool) bool { return false }

func refusal(name string) string {
	return "cannot create VirtualService apps/" + name + ": inducing failure for create virtualservices"
}

// forbidden refuses what concerns Secrets of a namespace.
func forbidden(namespace string) clientgotesting.ReactionFunc {
	return func(a clientgotesting.Action) (bool, runtime.Object, error) {
		if a.GetNamespace() != namespace || a.GetResource().Resource != "secrets" {
			return false, nil, nil
		}
		return true, nil, apierrs.NewForbidden(a.GetResource().GroupResource(), "", errors.New("no right"))
	}
}

func finalizerGone() clientgotesting.PatchActionImpl {
	p := clientgotesting.PatchActionImpl{Name: "hello", Patch: []byte(`{"metadata":{"finalizers":[],"resourceVersion":""}}`)}
	p.Namespace = "apps"
	return p
}

func deletion(group, resource, namespace, name string) clientgotesting.DeleteActionImpl {
	d := clientgotesting.DeleteActionImpl{Name: name}
	d.Namespace, d.Resource = namespace, schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	return d
}

// equalVirtualServices leaves the digest out, which is the plan's own affair.
func equalVirtualServices(a, b *istiov1.VirtualService) bool {
	a, b = withoutDigest(a), withoutDigest(b)
	return reflect.DeepEqual(a.ObjectMeta, b.ObjectMeta) && proto.Equal(&a.Spec, &b.Spec)
}

func equalGateways(a, b *istiov1.Gateway) bool {
	return reflect.DeepEqual(a.ObjectMeta, b.ObjectMeta) && proto.Equal(&a.Spec, &b.Spec)
}

func equalServiceEntries(a, b *istiov1.ServiceEntry) bool {
	return reflect.DeepEqual(a.ObjectMeta, b.ObjectMeta) && proto.Equal(&a.Spec, &b.Spec)
}

func withoutDigest(v *istiov1.VirtualService) *istiov1.VirtualService {
	v = v.DeepCopy()
	for _, route := range v.Spec.Http {
		if r := route.GetHeaders().GetResponse(); r != nil {
			delete(r.Set, plan.DigestHeader)
			if len(r.Set) == 0 {
				route.Headers.Response = nil
			}
		}
	}
	return v
}
