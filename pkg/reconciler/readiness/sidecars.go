package readiness

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// Sidecars are those that can be asked what the mesh has been told. One that is configured
// and does not answer is waited for; silence proves nothing.
type Sidecars struct {
	// Own: this pod has one, which takes what is sent to Address.
	Own bool
	// Address is an IP address with a port.
	Address string
	// Namespace is that of this pod.
	Namespace string
	// Observers are the Services of observers. Each of their ready pods is asked.
	Observers []types.NamespacedName
}

// ObserversVariable lists the Services of observers in the environment, as namespace/name
// with commas between them. None means that no observer is asked.
const ObserversVariable = "NET_MESH_OBSERVERS"

// ParseSidecars reads the settings of the process, for a pod in a namespace. Whether it has
// a sidecar Istio's injector has written down, so that one that is dead is not taken for
// none.
func ParseSidecars(getenv func(string) string, namespace string) (Sidecars, error) {
	s := Sidecars{
		Own:       getenv(observer.SidecarVariable) != "",
		Address:   cmp.Or(getenv(observer.AddressVariable), observer.DefaultAddress),
		Namespace: namespace,
	}
	if _, err := netip.ParseAddrPort(s.Address); err != nil {
		return Sidecars{}, fmt.Errorf("%s is %q; want an IP address and a port, such as %s", observer.AddressVariable, s.Address, observer.DefaultAddress)
	}
	for name := range strings.SplitSeq(getenv(ObserversVariable), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		namespace, service, both := strings.Cut(name, "/")
		if !both || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(service)) > 0 {
			return Sidecars{}, fmt.Errorf("%s names %q; want namespace/name of a Service", ObserversVariable, name)
		}
		s.Observers = append(s.Observers, types.NamespacedName{Namespace: namespace, Name: service})
	}
	return s, nil
}

// look puts a question to one of the sidecars.
func (s Sidecars) look() func(context.Context, viewer, observer.Question) ([]observer.Sight, error) {
	own, others := observer.NewSidecar(s.Address), observer.NewClient()
	return func(ctx context.Context, by viewer, q observer.Question) ([]observer.Sight, error) {
		if by.kind == ownSidecar {
			return own.Look(ctx, q)
		}
		// The observer needs the patience itself; what is more is its own slowness.
		ctx, cancel := context.WithTimeout(ctx, q.Patience+time.Second)
		defer cancel()
		return others.Ask(ctx, by.address, q)
	}
}

// see says whether there is a sidecar that is to know what the probe is about.
func (s Sidecars) see(p plan.Probe) bool { return s.ownSees(p) || len(s.observersOf(p)) > 0 }

func (s Sidecars) ownSees(p plan.Probe) bool { return s.Own && exported(p, s.Namespace) }

// observersOf are those in namespaces to which the probed object is exported: the others
// are not to know it.
func (s Sidecars) observersOf(p plan.Probe) []types.NamespacedName {
	return slices.DeleteFunc(slices.Clone(s.Observers), func(o types.NamespacedName) bool { return !exported(p, o.Namespace) })
}

func exported(p plan.Probe, namespace string) bool {
	return slices.Contains(p.ExportTo, plan.Everywhere) || slices.Contains(p.ExportTo, namespace)
}

// viewer is a sidecar through which the mesh is asked.
type viewer struct {
	kind viewerKind
	// service and address are those of an observer's pod.
	service types.NamespacedName
	address string
}

type viewerKind int

const (
	noSidecar viewerKind = iota
	ownSidecar
	anObserver
)

// String names the sidecar for people.
func (v viewer) String() string {
	if v.kind == ownSidecar {
		return "the controller's own sidecar"
	}
	return fmt.Sprintf("the sidecar of observer %s, pod %s", v.service, v.address)
}
