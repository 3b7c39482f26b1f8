package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// input is what the flags say about where the world is: written down, or live.
type input struct {
	paths                          []string
	clusterDomain                  string
	kubeconfig, context, namespace string
}

func (i *input) flags(c *cobra.Command) {
	c.Flags().StringArrayVarP(&i.paths, "filename", "f", nil,
		"file, folder (its *.yaml, *.yml and *.json, at any depth) or - for standard input; may be repeated; without it the live cluster is read")
	c.Flags().StringVar(&i.clusterDomain, "cluster-domain", "cluster.local",
		"DNS domain of the cluster, which neither documents nor the API say")
	c.Flags().StringVar(&i.kubeconfig, "kubeconfig", "", "kubeconfig file of the live cluster (default $KUBECONFIG, or ~/.kube/config)")
	c.Flags().StringVar(&i.context, "context", "", "context of the kubeconfig (default its current one)")
	c.Flags().StringVarP(&i.namespace, "namespace", "n", "", "of a live cluster, tell of the Ingresses of this namespace only")
}

// documents are what a world is made of. Those of a live cluster grow by what translating
// them asks for, so that what is read is what the controller would look at.
type documents struct {
	files []snapshot.File
	live  *cluster
	// warnings are about what could not be read.
	warnings []string
	// refused are kinds of which some object may not be read, where that is tolerated.
	refused []doctor.Unread
}

// documents reads what -f names, or else opens the live cluster.
func (i *input) documents(c *cobra.Command) (*documents, error) {
	if len(i.paths) > 0 {
		for _, flag := range []string{"kubeconfig", "context", "namespace"} {
			if live := c.Flags().Lookup("live"); c.Flags().Changed(flag) && (live == nil || !live.Changed) {
				return nil, fmt.Errorf("--%s is for the live cluster, which is not read where -f names documents; leave one of the two out", flag)
			}
		}
		files, err := readPaths(i.paths, c.InOrStdin())
		return &documents{files: files}, err
	}
	live, err := i.connect()
	if err != nil {
		return nil, err
	}
	d := &documents{live: live}
	first, err := live.begin(c.Context())
	if err == nil {
		err = d.add(first)
	}
	if err == nil && live.namespace != metav1.NamespaceAll {
		err = d.neighbours(c.Context())
	}
	if err == nil {
		err = d.others(c.Context())
	}
	return d, err
}

// others reads all VirtualServices, because each may name a host of an Ingress for sidecars. Who
// may not list them is told.
func (d *documents) others(ctx context.Context) error {
	all, err := d.live.list(ctx, virtualServices, metav1.NamespaceAll, metav1.ListOptions{})
	if _, told := d.live.refusal(err, listing(virtualServices), virtualServices); told {
		d.warnings = append(d.warnings, fmt.Sprintf("whether VirtualServices of others name the same hosts, or lead them to the local gateway, is not known: %v", err))
		return nil
	}
	if err != nil {
		return err
	}
	d.live.seesMesh = true
	return d.add(all)
}

// neighbours reads all Ingresses of the cluster, because each may have a host that one of the
// documents claims. Not everybody may list them; then that is told.
func (d *documents) neighbours(ctx context.Context) error {
	all, err := d.live.list(ctx, ingresses, metav1.NamespaceAll, metav1.ListOptions{})
	if apierrs.IsForbidden(err) {
		d.warnings = append(d.warnings, fmt.Sprintf("whether other Ingresses of the cluster claim the same hosts is not known: %v", err))
		return nil
	}
	if err != nil {
		return err
	}
	before := len(d.files)
	err = d.add(all)
	for i := range d.files[before:] {
		d.files[before+i].Around = true
	}
	return err
}

// overlay puts documents over a live cluster, as if they were applied to it: what they do
// not hold is read there. Ingresses that they do not hold are neighbours only.
func (d *documents) overlay(ctx context.Context, live *cluster) error {
	b, err := snapshot.ReadFiles(d.files...)
	if err != nil {
		return err
	}
	system, err := b.SystemNamespace()
	if err == nil && !b.Holds(config.IstioConfigMap) {
		system, err = live.systemNamespace(ctx)
	}
	if err != nil {
		return err
	}
	var absent []object
	for _, name := range []string{config.IstioConfigMap, config.NetworkConfigMap} {
		if !b.Holds(name) {
			absent = append(absent, object{configMaps, types.NamespacedName{Namespace: system, Name: name}})
		}
	}
	found, err := live.get(ctx, absent...)
	if err != nil {
		return err
	}
	d.live = live
	if err := d.add(found); err != nil {
		return err
	}
	if err := d.neighbours(ctx); err != nil {
		return err
	}
	return d.others(ctx)
}

// begin reads the configuration and the Ingresses.
func (c *cluster) begin(ctx context.Context) ([]unstructured.Unstructured, error) {
	system, err := c.systemNamespace(ctx)
	if err != nil {
		return nil, err
	}
	configuration, err := c.get(ctx,
		object{configMaps, types.NamespacedName{Namespace: system, Name: config.IstioConfigMap}},
		object{configMaps, types.NamespacedName{Namespace: system, Name: config.NetworkConfigMap}})
	if err != nil {
		return nil, err
	}
	all, err := c.list(ctx, ingresses, c.namespace, metav1.ListOptions{})
	return append(configuration, all...), err
}

// systemNamespace is the one that holds config-istio. Only where it is not in the usual
// place all namespaces are looked through, which not everybody may.
func (c *cluster) systemNamespace(ctx context.Context) (string, error) {
	usual := types.NamespacedName{Namespace: snapshot.DefaultSystemNamespace, Name: config.IstioConfigMap}
	found, err := c.get(ctx, object{configMaps, usual})
	if err != nil {
		return "", err
	}
	delete(c.asked, object{configMaps, usual})
	if len(found) > 0 {
		return usual.Namespace, nil
	}
	found, err = c.list(ctx, configMaps, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "metadata.name=" + config.IstioConfigMap})
	if err != nil {
		return "", err
	}
	var in []string
	for _, o := range found {
		in = append(in, o.GetNamespace())
	}
	switch len(in) {
	case 0:
		return "", fmt.Errorf("cluster %s has no ConfigMap %s: install net-mesh, or choose another cluster with --context", c.name, config.IstioConfigMap)
	case 1:
		return in[0], nil
	}
	return "", fmt.Errorf("cluster %s has ConfigMap %s in several namespaces (%s), and Knative reads only its own; delete the others", c.name, config.IstioConfigMap, strings.Join(in, ", "))
}

// add takes objects of the cluster in, as the List that kubectl would print.
func (d *documents) add(objects []unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	items := make([]any, 0, len(objects))
	for _, o := range objects {
		o.SetManagedFields(nil)
		if o.GetKind() == "Secret" {
			reduced, err := d.live.secrets.reduce(o)
			if err != nil {
				return err
			}
			o = reduced
		}
		items = append(items, o.Object)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return err
	}
	d.files = append(d.files, snapshot.File{Name: "cluster " + d.live.name, Text: text, Served: true})
	return nil
}

// world translates the documents after a change. Of a live cluster it reads what the
// translation looked for and did not find, until nothing is new.
func (d *documents) world(ctx context.Context, clusterDomain string, c change) (*world, error) {
	for {
		w, err := newWorld(d.files, clusterDomain, c)
		if err != nil {
			return nil, err
		}
		w.warnings, w.asked = append(w.warnings, d.warnings...), d.live != nil
		if d.live == nil {
			return w, nil
		}
		more, err := d.live.get(ctx, w.missing()...)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			return w, nil
		}
		if err := d.add(more); err != nil {
			return nil, err
		}
	}
}
