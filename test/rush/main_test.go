package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/client/clientset/versioned/fake"

	"github.com/net-mesh/net-mesh/test/rush/tally"
)

// TestEachIsCalledWhenItTurnsReady: what the first call gets counts, and it is called until it is served.
func TestEachIsCalledWhenItTurnsReady(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	sidecar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls[r.Host]++
		if strings.HasPrefix(r.Host, "rush-1.") && calls[r.Host] < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(sidecar.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := fake.NewSimpleClientset()
	r := newRush(client, sidecar.Listener.Addr().String())
	watched, err := client.NetworkingV1alpha1().Ingresses("apps").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	// The client of the tests tells nobody what happened before he came to watch, as an API server would.
	here := make(chan struct{})
	client.PrependWatchReactor("ingresses", func(clienttesting.Action) (bool, watch.Interface, error) {
		close(here)
		return false, nil, nil
	})
	go func() {
		<-here
		// What comes besides is of the statuses written here.
		for event := range watched.ResultChan() {
			if event.Type != watch.Added {
				continue
			}
			ing := event.Object.(*v1alpha1.Ingress).DeepCopy()
			mesh := []v1alpha1.LoadBalancerIngressStatus{{MeshOnly: true}}
			ing.Status.InitializeConditions()
			ing.Status.MarkNetworkConfigured()
			ing.Status.MarkLoadBalancerReady(mesh, mesh)
			if ing.Name == "rush-2" {
				ing.GetConditionSet().Manage(&ing.Status).MarkTrueWithReason(v1alpha1.IngressConditionLoadBalancerReady, "Assumed", "")
			}
			if _, err := client.NetworkingV1alpha1().Ingresses("apps").UpdateStatus(ctx, ing, metav1.UpdateOptions{}); err != nil {
				t.Errorf("status of %s: %v", ing.Name, err)
			}
		}
	}()
	all, err := r.run(ctx, order{namespace: "apps", count: 3, backends: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	s := tally.Sum(all)
	if s.Count != 3 || tally.Counts(s.Early) != "503: 1" || tally.Counts(s.Unproven) != "Assumed: 1" || s.Late.Last < callPause {
		t.Errorf("got %+v", s)
	}
	for _, i := range all {
		if i.Ready < i.Created || i.Served < i.Ready {
			t.Errorf("%s was created at %s, Ready at %s, served at %s", i.Name, i.Created, i.Ready, i.Served)
		}
	}
}

// TestWhoIsNeverReady is counted when there is no more time, which is here when all have been made.
func TestWhoIsNeverReady(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := fake.NewSimpleClientset()
	watched, err := client.NetworkingV1alpha1().Ingresses("apps").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	go func() {
		for range 2 {
			<-watched.ResultChan()
		}
		cancel()
	}()
	_, err = newRush(client, "127.0.0.1:1").run(ctx, order{namespace: "apps", count: 2, backends: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "2 of 2 Ingresses are not Ready") {
		t.Errorf("got %v", err)
	}
}

func TestOrder(t *testing.T) {
	all := order{namespace: "apps", count: 3, backends: []string{"a", "b"}}.ingresses()
	ctx := t.Context()
	for i, want := range []string{"a", "b", "a"} {
		if err := all[i].Validate(ctx); err != nil {
			t.Error(err)
		}
		if got := all[i].Spec.Rules[0].HTTP.Paths[0].Splits[0].ServiceName; got != want {
			t.Errorf("%s leads to %s, want %s", all[i].Name, got, want)
		}
	}
}
