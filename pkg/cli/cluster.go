package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster reads a live cluster, and never writes to it. What is read of Secrets is
// reduced at once, see secret.go.
type cluster struct {
	api dynamic.Interface
	// name is the context's; messages call the cluster so.
	name string
	// namespace limits the Ingresses that are told of, and what is written for them; empty for all.
	namespace string
	secrets   secrets
	// asked are the objects that were asked for by name, there or not.
	asked map[object]bool
	// seesMesh: all VirtualServices have been read.
	seesMesh bool
	// tolerate is told, where it is set, what may not be read by name, which is then passed over.
	tolerate func(object, error)
}

// object names one object of a resource.
type object struct {
	resource schema.GroupVersionResource
	name     types.NamespacedName
}

// What is read: the kinds that the controller gathers and writes, and ServerlessServices.
var (
	ingresses        = schema.GroupVersionResource{Group: "networking.internal.knative.dev", Version: "v1alpha1", Resource: "ingresses"}
	serverless       = ingresses.GroupVersion().WithResource("serverlessservices")
	gateways         = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "gateways"}
	virtualServices  = gateways.GroupVersion().WithResource("virtualservices")
	destinationRules = gateways.GroupVersion().WithResource("destinationrules")
	serviceEntries   = gateways.GroupVersion().WithResource("serviceentries")
	services         = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	secretResource   = services.GroupVersion().WithResource("secrets")
	configMaps       = services.GroupVersion().WithResource("configmaps")
	namespaces       = services.GroupVersion().WithResource("namespaces")
	pods             = services.GroupVersion().WithResource("pods")
	deployments      = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	networkPolicies  = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
	sidecars         = gateways.GroupVersion().WithResource("sidecars")
	envoyFilters     = schema.GroupVersionResource{Group: gateways.Group, Version: "v1alpha3", Resource: "envoyfilters"}
	events           = services.GroupVersion().WithResource("events")
	peers            = schema.GroupVersionResource{Group: "security.istio.io", Version: "v1", Resource: "peerauthentications"}
	authorizations   = peers.GroupVersion().WithResource("authorizationpolicies")
	mutating         = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validating       = mutating.GroupVersion().WithResource("validatingwebhookconfigurations")

	// resourceOf finds the resource of a kind that the gathering looks at by name.
	resourceOf = map[string]schema.GroupVersionResource{"Service": services, "Secret": secretResource, "Gateway": gateways, "VirtualService": virtualServices}
)

const (
	// patience is how long one answer of the API server may take.
	patience = 30 * time.Second
	// page is how many objects are listed at once, atOnce how many are asked for together.
	page, atOnce = 500, 16
)

// connect finds the cluster as kubectl does.
func (i *input) connect() (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = i.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: i.context})
	cfg, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no documents and no cluster%s: give files, folders or - with -f, or a kubeconfig with --kubeconfig or KUBECONFIG", absentFiles())
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w; correct it, or choose another with --kubeconfig or --context", err)
	}
	// The server has its own limits; what is asked for is bounded by atOnce.
	cfg.QPS, cfg.Timeout, cfg.UserAgent, cfg.WarningHandler = -1, patience, "netmesh", rest.NoWarnings{}
	api, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	c := &cluster{api: api, name: i.context, namespace: i.namespace, secrets: secrets{}, asked: map[object]bool{}}
	if raw, err := loader.RawConfig(); err == nil && c.name == "" {
		c.name = raw.CurrentContext
	}
	if c.name == "" {
		c.name = cfg.Host
	}
	return c, nil
}

// absentFiles tells which files of $KUBECONFIG are not there, which its reader passes over.
func absentFiles() string {
	var absent []string
	for _, file := range filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, file)
		}
	}
	if len(absent) == 0 {
		return ""
	}
	return ", for $KUBECONFIG names what does not exist (" + strings.Join(absent, ", ") + ")"
}

// list reads all objects of a resource, in one namespace or, without one, in all.
func (c *cluster) list(ctx context.Context, r schema.GroupVersionResource, namespace string, opts metav1.ListOptions) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for opts.Limit = page; ; {
		some, err := c.api.Resource(r).Namespace(namespace).List(ctx, opts)
		if err != nil {
			where := "all namespaces"
			if namespace != "" {
				where = "namespace " + namespace
			}
			return nil, c.fault("list "+r.GroupResource().String()+" in "+where, r, err)
		}
		all = append(all, some.Items...)
		if opts.Continue = some.GetContinue(); opts.Continue == "" {
			return all, nil
		}
	}
}

// get reads objects by name, those that have not been asked for before. What is not there
// is left out.
func (c *cluster) get(ctx context.Context, wanted ...object) ([]unstructured.Unstructured, error) {
	var fresh []object
	for _, o := range wanted {
		if !c.asked[o] {
			c.asked[o] = true
			fresh = append(fresh, o)
		}
	}
	found, refused := make([]*unstructured.Unstructured, len(fresh)), make([]error, len(fresh))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, o := range fresh {
		group.Go(func() error {
			one, err := c.api.Resource(o.resource).Namespace(o.name.Namespace).Get(ctx, o.name.Name, metav1.GetOptions{})
			switch {
			case err == nil:
				found[i] = one
			case c.tolerate != nil && apierrs.IsForbidden(err):
				refused[i] = err
			case !apierrs.IsNotFound(err) || kindMissing(err):
				return c.fault("get "+o.resource.GroupResource().String()+" "+o.name.String(), o.resource, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []unstructured.Unstructured
	for i, one := range found {
		switch {
		case one != nil:
			out = append(out, *one)
		case refused[i] != nil:
			c.tolerate(fresh[i], refused[i])
		}
	}
	return out, nil
}

// kindMissing tells a missing kind from a missing object: of the former the API server
// has nothing to say in its own words.
func kindMissing(err error) bool {
	return apierrs.IsNotFound(err) && apierrs.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// absentKind is the error about a kind that the API server does not know.
type absentKind string

func (e absentKind) Error() string { return string(e) }

// fault says what could not be read, why, and what to do about it.
func (c *cluster) fault(what string, r schema.GroupVersionResource, err error) error {
	remedy := "see whether kubectl can, with the same kubeconfig and context"
	switch {
	case kindMissing(err) && r.Group == ingresses.Group:
		return absentKind(fmt.Sprintf("cluster %s has no %s (%s): install Knative Serving, or choose another cluster with --context", c.name, r.GroupResource(), r.Version))
	case kindMissing(err):
		return absentKind(fmt.Sprintf("cluster %s has no %s (%s): install Istio, or choose another cluster with --context", c.name, r.GroupResource(), r.Version))
	case apierrs.IsForbidden(err):
		remedy = "ask for that right; ingresses can be limited to a namespace with -n"
	case apierrs.IsUnauthorized(err):
		remedy = "log in again; the credentials of the kubeconfig are not accepted"
	case apierrs.ReasonForError(err) == metav1.StatusReasonUnknown:
		remedy = "see whether the cluster is up and can be reached from here"
	}
	return fmt.Errorf("cannot %s of cluster %s: %w; %s", what, c.name, err, remedy)
}
