// Command rush makes many Ingresses at once and calls each of them the moment its status turns Ready. It
// runs in a pod with a sidecar, so it tells whether Ready is true for a caller whom nobody has asked. It
// prints a JSON list of tally.Ingress. The Ingresses stay; the Services of their names, and the backends,
// have to be there.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/client/clientset/versioned"
	"knative.dev/networking/pkg/client/informers/externalversions"

	"github.com/net-mesh/net-mesh/test/rush/tally"
)

const (
	// writers bounds the Ingresses that are created at a time.
	writers = 16
	// callLimit is of one call, callPause between two to a host that is not served.
	callLimit = 2 * time.Second
	callPause = 10 * time.Millisecond
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the API server")
	address := flag.String("address", "", "IP address and port to call: a sidecar routes by the host")
	limit := flag.Duration("limit", 5*time.Minute, "for all to be Ready and served")
	o := order{}
	flag.StringVar(&o.namespace, "namespace", "apps", "namespace of Ingresses and backends")
	flag.IntVar(&o.count, "count", 60, "how many Ingresses")
	backends := flag.String("backends", "", "Services that answer at port 80, with commas between")
	flag.Parse()
	o.backends = strings.Split(*backends, ",")
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1 // as fast as the API server takes them
	client, err := versioned.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	all, err := newRush(client, *address).run(ctx, o)
	if err != nil {
		log.Fatal(err) //nolint:gocritic // the process ends
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}

// rush is one run.
type rush struct {
	client versioned.Interface
	// address is dialled whatever the host.
	caller *http.Client
	begin  time.Time

	mu   sync.Mutex
	all  map[string]*tally.Ingress
	left int
	// calls are under way until all that are Ready have been served.
	calls errgroup.Group
	// ready closes when the last is.
	ready chan struct{}
}

func newRush(client versioned.Interface, address string) *rush {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return &rush{
		client: client, all: map[string]*tally.Ingress{}, ready: make(chan struct{}),
		caller: &http.Client{
			Timeout:       callLimit,
			Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// run makes the Ingresses and returns when all are Ready and served.
func (r *rush) run(ctx context.Context, o order) ([]tally.Ingress, error) {
	if err := r.watch(ctx, o.namespace); err != nil {
		return nil, err
	}
	wanted := o.ingresses()
	r.left, r.begin = len(wanted), time.Now()
	var making errgroup.Group
	making.SetLimit(writers)
	for _, ing := range wanted {
		making.Go(func() error {
			r.made(ing)
			_, err := r.client.NetworkingV1alpha1().Ingresses(ing.Namespace).Create(ctx, ing, metav1.CreateOptions{})
			return err
		})
	}
	if err := making.Wait(); err != nil {
		return nil, err
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		return nil, fmt.Errorf("%d of %d Ingresses are not Ready: %w", r.left, len(wanted), ctx.Err())
	}
	if err := r.calls.Wait(); err != nil {
		return nil, err
	}
	out := make([]tally.Ingress, 0, len(wanted))
	for _, ing := range wanted {
		out = append(out, *r.all[ing.Name])
	}
	return out, nil
}

// watch has each change of an Ingress looked at.
func (r *rush) watch(ctx context.Context, namespace string) error {
	factory := externalversions.NewSharedInformerFactoryWithOptions(r.client, 0, externalversions.WithNamespace(namespace),
		externalversions.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = label }))
	informer := factory.Networking().V1alpha1().Ingresses().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.seen(ctx, o.(*v1alpha1.Ingress)) },
		UpdateFunc: func(_, o any) { r.seen(ctx, o.(*v1alpha1.Ingress)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the Ingresses of namespace %s cannot be watched: %w", namespace, ctx.Err())
	}
	return nil
}

func (r *rush) made(ing *v1alpha1.Ingress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[ing.Name] = &tally.Ingress{Name: ing.Name, Created: time.Since(r.begin)}
}

// seen calls an Ingress that has turned Ready.
func (r *rush) seen(ctx context.Context, ing *v1alpha1.Ingress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[ing.Name]
	if one == nil || one.Ready != 0 || !ing.IsReady() {
		return
	}
	one.Ready = time.Since(r.begin)
	one.Reason = ing.Status.GetCondition(v1alpha1.IngressConditionLoadBalancerReady).GetReason()
	r.calls.Go(func() error { return r.call(ctx, one, ing.Spec.Rules[0].Hosts[0]) })
	if r.left--; r.left == 0 {
		close(r.ready)
	}
}

// call calls until the backend answers.
func (r *rush) call(ctx context.Context, one *tally.Ingress, host string) error {
	for {
		got := r.get(ctx, host)
		if one.First == "" {
			one.First = got
		}
		if got == tally.OK {
			one.Served = time.Since(r.begin)
			return nil
		}
		select {
		case <-time.After(callPause):
		case <-ctx.Done():
			return fmt.Errorf("%s is Ready and answers %s still: %w", host, got, ctx.Err())
		}
	}
}

func (r *rush) get(ctx context.Context, host string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
	if err != nil {
		return err.Error()
	}
	resp, err := r.caller.Do(req)
	if err != nil {
		return tally.NoAnswer
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}
