package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// File is a stream of YAML documents and what errors call it.
type File struct {
	Name string
	Text []byte
	// Served documents come from an API server, which may be newer than we are: fields
	// that we do not know are not told of.
	Served bool
	// Around: Ingresses of these documents are neighbours of the others, and not translated
	// themselves. One that other documents hold too is as it is written there, with the age
	// and UID that the API server has given it.
	Around bool
}

// ReadFiles reads YAML documents. Unknown fields are tolerated and noted in the Bundle.
// The error names every document that cannot be read.
func ReadFiles(files ...File) (*Bundle, error) { return readBundle(files, unmarshal) }

// ReadBundle is ReadFiles for documents without names.
func ReadBundle(documents ...[]byte) (*Bundle, error) { return ReadFiles(nameless(documents)...) }

// ReadBundleStrictly is ReadBundle for documents written by hand: an unknown field
// is an error.
func ReadBundleStrictly(documents ...[]byte) (*Bundle, error) {
	return readBundle(nameless(documents), func(raw []byte, into any) error { return yaml.UnmarshalStrict(raw, into) })
}

// unmarshal spares JSON, which API servers give, the way of YAML, which is much slower.
func unmarshal(raw []byte, into any) error {
	if bytes.HasPrefix(raw, []byte("{")) && json.Valid(raw) {
		return json.Unmarshal(raw, into)
	}
	return yaml.Unmarshal(raw, into)
}

func nameless(documents [][]byte) []File {
	files := make([]File, 0, len(documents))
	for _, text := range documents {
		files = append(files, File{Text: text})
	}
	return files
}

// reading is one pass over documents.
type reading struct {
	bundle    *Bundle
	ingresses map[types.NamespacedName]*v1alpha1.Ingress
	around    map[types.NamespacedName]*v1alpha1.Ingress
	decode    func(raw []byte, into any) error
	// at is where the document in hand begins, whole its text; served is its File's.
	at       position
	whole    []byte
	served   bool
	isAround bool
	// inList: the document in hand is an item, the one of this number.
	inList bool
	item   int
}

func readBundle(files []File, decode func(raw []byte, into any) error) (*Bundle, error) {
	r := &reading{
		bundle: &Bundle{
			services:   map[types.NamespacedName]*corev1.Service{},
			secrets:    map[types.NamespacedName]*corev1.Secret{},
			gateways:   map[types.NamespacedName]*istiov1.Gateway{},
			configMaps: map[types.NamespacedName]*corev1.ConfigMap{},
			serverless: map[types.NamespacedName]*v1alpha1.ServerlessService{},
			claimants:  map[string][]*v1alpha1.Ingress{},
			origins:    map[types.NamespacedName]string{},

			virtualServices: map[types.NamespacedName]*istiov1.VirtualService{},
			inMesh:          map[string][]*istiov1.VirtualService{},
			delegating:      map[types.NamespacedName][]*istiov1.VirtualService{},
		},
		ingresses: map[types.NamespacedName]*v1alpha1.Ingress{},
		around:    map[types.NamespacedName]*v1alpha1.Ingress{},
		decode:    decode,
	}
	var faults []error
	for _, file := range files {
		line := 1
		for _, doc := range split(file.Text) {
			r.at, r.whole, r.served, r.isAround = position{file.Name, line}, doc, file.Served, file.Around
			if file.Served {
				r.at.line = 0
			}
			if err := r.refuseDuplicates(doc); err != nil {
				faults = append(faults, err)
			} else if err := r.add(doc); err != nil {
				faults = append(faults, r.at.fault(err))
			}
			line += bytes.Count(doc, []byte("\n"))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	r.meet()
	return r.bundle, nil
}

// meet lists the Ingresses, and who claims which hosts, or names them.
func (r *reading) meet() {
	for _, name := range slices.SortedFunc(maps.Keys(r.ingresses), compareNames) {
		ing := r.ingresses[name]
		if known, there := r.around[name]; there {
			ing.CreationTimestamp, ing.UID = known.CreationTimestamp, known.UID
			delete(r.around, name)
		}
		r.bundle.Ingresses = append(r.bundle.Ingresses, ing)
		r.bundle.claim(ing)
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.around), compareNames) {
		r.bundle.claim(r.around[name])
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.bundle.virtualServices), compareNames) {
		vs := r.bundle.virtualServices[name]
		for _, key := range MeshHostKeys(vs) {
			r.bundle.inMesh[key] = append(r.bundle.inMesh[key], vs)
		}
		for _, key := range Delegations(vs) {
			r.bundle.delegating[key] = append(r.bundle.delegating[key], vs)
		}
	}
}

func (r *reading) add(doc []byte) error {
	var head metav1.PartialObjectMetadata
	if err := unmarshal(doc, &head); err != nil {
		return config.Plain(err)
	}
	switch kind := head.GroupVersionKind().GroupKind().String(); kind {
	case "":
		return nothing(doc)
	case "List":
		return r.addList(doc)
	case "Ingress.networking.internal.knative.dev":
		if r.isAround {
			return keep(r, r.around, kind, &v1alpha1.Ingress{}, doc)
		}
		return keep(r, r.ingresses, kind, &v1alpha1.Ingress{}, doc)
	case "Service":
		return keep(r, r.bundle.services, kind, &corev1.Service{}, doc)
	case "Secret":
		secret := &corev1.Secret{}
		err := keep(r, r.bundle.secrets, kind, secret, doc)
		merge(secret)
		return err
	case "ServerlessService.networking.internal.knative.dev":
		return keep(r, r.bundle.serverless, kind, &v1alpha1.ServerlessService{}, doc)
	case "Gateway.networking.istio.io":
		return keep(r, r.bundle.gateways, kind, &istiov1.Gateway{}, doc)
	case "VirtualService.networking.istio.io":
		if _, there := r.bundle.virtualServices[nameOf(&head)]; there && r.served {
			return nil // it is as it is written in the documents over the cluster
		}
		r.bundle.Rest = append(r.bundle.Rest, Document{Kind: kind, Name: nameOf(&head), Text: doc, Origin: r.at.prefix()})
		return keep(r, r.bundle.virtualServices, kind, &istiov1.VirtualService{}, doc)
	default:
		if kind == "ConfigMap" && (head.Name == config.IstioConfigMap || head.Name == config.NetworkConfigMap) {
			r.bundle.origins[nameOf(&head)] = r.at.prefix()
			return keep(r, r.bundle.configMaps, kind, &corev1.ConfigMap{}, doc)
		}
		r.bundle.Ignored = append(r.bundle.Ignored, finding.Ref{Kind: kind, Namespace: head.Namespace, Name: head.Name})
		r.bundle.Rest = append(r.bundle.Rest, Document{Kind: kind, Name: nameOf(&head), Text: doc, Origin: r.at.prefix()})
		return nil
	}
}

// nothing accepts a document in which nothing is written; anything else has a kind.
func nothing(doc []byte) error {
	var content any
	if err := yaml.Unmarshal(doc, &content); err != nil || content == nil {
		return err
	}
	return errors.New("it has no kind, so it is no object of Kubernetes; add apiVersion and kind, or remove it")
}

// merge does what the API server does with a Secret's plain text.
func merge(s *corev1.Secret) {
	for key, value := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

// addList adds the items of what kubectl prints for several objects. It puts no List
// into a List, and to follow many of them down would take for ever.
func (r *reading) addList(doc []byte) error {
	if r.inList {
		return errors.New("a List in a List is not read; give the objects in one")
	}
	r.inList = true
	defer func() { r.inList = false }()
	var list struct{ Items []json.RawMessage }
	if err := unmarshal(doc, &list); err != nil {
		return err
	}
	var faults []error
	for i, item := range list.Items {
		r.item = i
		if err := r.add(item); err != nil {
			faults = append(faults, fmt.Errorf("item %d: %w", i, err))
		}
	}
	return errors.Join(faults...)
}

func keep[T metav1.Object](r *reading, all map[types.NamespacedName]T, kind string, object T, doc []byte) error {
	if err := r.decode(doc, object); err != nil {
		return config.Plain(err)
	}
	name := nameOf(object)
	if err := checkName(kind, name); err != nil {
		return err
	}
	if _, twice := all[name]; twice {
		r.bundle.Replaced = append(r.bundle.Replaced, finding.Ref{Kind: kind, Namespace: name.Namespace, Name: name.Name})
	}
	all[name] = object
	r.noteUnknown(finding.Ref{Kind: kind, Namespace: name.Namespace, Name: name.Name}, object, doc)
	return nil
}

// checkName refuses what the API server would not let through: names are built from
// names, and what has no namespace cannot be looked up.
func checkName(kind string, n types.NamespacedName) error {
	if errs := validation.IsDNS1123Subdomain(n.Name); len(errs) > 0 {
		return fmt.Errorf("metadata.name %q of the %s is not a name: %s", n.Name, kind, errs[0])
	}
	if n.Namespace == "" {
		return fmt.Errorf("the %s %s has no metadata.namespace; add it", kind, n.Name)
	}
	if errs := validation.IsDNS1123Label(n.Namespace); len(errs) > 0 {
		return fmt.Errorf("metadata.namespace %q of the %s %s is not a name: %s", n.Namespace, kind, n.Name, errs[0])
	}
	return nil
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
