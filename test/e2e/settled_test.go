//go:build lab || acceptance

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	netv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/apis"

	"github.com/net-mesh/net-mesh/test/lab"
)

const (
	publicService = "istio-ingressgateway.istio-system.svc.cluster.local"
	localService  = "knative-local-gateway.istio-system.svc.cluster.local"
)

// addresses are what an Ingress publishes in each mode, "" for the mesh; a name may go with it.
var addresses = map[string]struct{ public, private, name string }{
	"gateway":         {publicService, localService, ""},
	"half-mesh":       {publicService, "", ""},
	"mesh-only":       {"", "", ""},
	"half-mesh-alias": {publicService, "", localService},
	"mesh-only-alias": {"", "", localService},
}

// settled waits until every Ingress of a namespace is Ready with the addresses of the mode, and awaits nothing.
func settled(t *testing.T, m lab.Mesh, namespace, mode string) {
	t.Helper()
	eventually(t, "the Ingresses of "+namespace+" to be as "+mode+" wants them", func(ctx context.Context) error {
		list, err := ingresses(ctx, m, namespace)
		if err == nil && len(list) == 0 {
			err = errors.New("there is none")
		}
		for i := range list {
			err = errors.Join(err, settledIngress(&list[i], mode))
		}
		return err
	})
}

func ingresses(ctx context.Context, m lab.Mesh, namespace string) ([]netv1alpha1.Ingress, error) {
	out, err := m.Kubectl(ctx, nil, "-n", namespace, "get", "ingresses.networking.internal.knative.dev", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list netv1alpha1.IngressList
	return list.Items, json.Unmarshal([]byte(out), &list)
}

func settledIngress(ing *netv1alpha1.Ingress, mode string) error {
	ready := ing.Status.GetCondition(netv1alpha1.IngressConditionLoadBalancerReady)
	if ing.Status.ObservedGeneration != ing.Generation || !ing.IsReady() || ready == nil || ready.Reason == "AwaitingProof" {
		return fmt.Errorf("%s: %+v", ing.Name, ing.Status.Conditions)
	}
	want := addresses[mode]
	for _, a := range []struct {
		status *netv1alpha1.LoadBalancerStatus
		want   string
		name   string
	}{{ing.Status.PublicLoadBalancer, want.public, ""}, {ing.Status.PrivateLoadBalancer, want.private, want.name}} {
		if a.status == nil || len(a.status.Ingress) == 0 {
			continue // no host of this kind
		}
		if got := a.status.Ingress[0]; got.DomainInternal != a.want+a.name || got.MeshOnly != (a.want == "") {
			return fmt.Errorf("%s: its address is %+v, want %q %s", ing.Name, got, a.want, a.name)
		}
	}
	return nil
}

// comes waits until a condition of an Ingress has a status and a reason, and returns its message.
func comes(t *testing.T, m lab.Mesh, name string, condition apis.ConditionType, status, reason string) (message string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s of %s to be %s %s", condition, name, status, reason), func(ctx context.Context) error {
		c, err := conditionOf(ctx, m, name, condition)
		if err == nil && (string(c.Status) != status || c.Reason != reason) {
			err = fmt.Errorf("it is %+v", c)
		}
		message = c.GetMessage()
		return err
	})
	return message
}

func conditionOf(ctx context.Context, m lab.Mesh, name string, condition apis.ConditionType) (*apis.Condition, error) {
	list, err := ingresses(ctx, m, "apps")
	if err != nil {
		return nil, err
	}
	for i := range list {
		if c := list[i].Status.GetCondition(condition); list[i].Name == name && c != nil && list[i].Status.ObservedGeneration == list[i].Generation {
			return c, nil
		}
	}
	return nil, fmt.Errorf("Ingress %s says nothing of %s", name, condition)
}
