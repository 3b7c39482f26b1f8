package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
)

func gateway(namespace, name, service string, labels map[string]string) config.Gateway {
	g := config.Gateway{
		Name:        types.NamespacedName{Namespace: namespace, Name: name},
		Service:     types.NamespacedName{Namespace: "istio-system", Name: service},
		ServiceHost: service + ".istio-system.svc.cluster.local",
	}
	if labels != nil {
		g.Selector = &metav1.LabelSelector{MatchLabels: labels}
	}
	return g
}

var (
	defaultExternal = []config.Gateway{gateway("knative-serving", "knative-ingress-gateway", "istio-ingressgateway", nil)}
	defaultLocal    = []config.Gateway{gateway("knative-serving", "knative-local-gateway", "knative-local-gateway", nil)}
)

func TestParseIstio(t *testing.T) {
	for name, tt := range map[string]struct {
		data     map[string]string
		want     config.Istio
		findings []string
		// withoutLoopback: otherwise it is wanted.
		withoutLoopback bool
	}{
		"nothing said means the defaults": {
			want: config.Istio{External: defaultExternal, Local: defaultLocal},
		},
		"a blank value means the default": {
			data:     map[string]string{"external-gateways": " \n", "local-gateways": "[]\n"},
			want:     config.Istio{External: defaultExternal, Local: []config.Gateway{}},
			findings: []string{"data.external-gateways"},
		},
		"an empty list means none": {
			data: map[string]string{"external-gateways": "[]", "local-gateways": "[]"},
			want: config.Istio{External: []config.Gateway{}, Local: []config.Gateway{}},
		},
		"lists with selectors": {
			data: map[string]string{"external-gateways": `
- {namespace: a, name: b, service: c.istio-system.svc.cluster.local.}
- {namespace: d, name: e, service: f.istio-system.svc.cluster.local, labelSelector: {matchLabels: {x: z}}}`},
			want: config.Istio{
				External: []config.Gateway{gateway("a", "b", "c", nil), gateway("d", "e", "f", map[string]string{"x": "z"})},
				Local:    defaultLocal,
			},
		},
		"an unknown field is told": {
			data:     map[string]string{"local-gateways": "- {namespace: a, name: b, service: c.istio-system.svc.cluster.local, colour: red}"},
			want:     config.Istio{External: defaultExternal, Local: []config.Gateway{gateway("a", "b", "c", nil)}},
			findings: []string{"data.local-gateways"},
		},
		"the legacy format": {
			data: map[string]string{
				"gateway.ns.one": "c.istio-system.svc.cluster.local",
				"gateway.two":    "c.istio-system.svc.cluster.local",
			},
			want: config.Istio{
				External: []config.Gateway{gateway("ns", "one", "c", nil), gateway("knative-serving", "two", "c", nil)},
				Local:    defaultLocal,
			},
		},
		"public hosts in the mesh, and export": {
			data: map[string]string{"external-in-mesh": "true", "export-to": " shop , ., shop", "export-to.apps": "*", "export-to.bank": "audit", "export-to.empty": ""},
			want: config.Istio{External: defaultExternal, Local: defaultLocal, ExternalInMesh: true, Export: config.Export{
				Default:     []string{".", "shop"},
				ByNamespace: []config.NamespaceExport{{Namespace: "apps", To: []string{"*"}}, {Namespace: "bank", To: []string{"audit"}}},
			}},
		},
		"sidecars answer DNS, without an external gateway": {
			data: map[string]string{"external-gateways": "[]", "mesh-dns": " true\n"},
			want: config.Istio{External: []config.Gateway{}, Local: defaultLocal, MeshDNS: true},
		},
		"and beside one": {
			data: map[string]string{"external-in-mesh": "true", "mesh-dns": "true"},
			want: config.Istio{External: defaultExternal, Local: defaultLocal, ExternalInMesh: true, MeshDNS: true},
		},
		"sidecars have no public hosts to answer DNS for": {
			data:     map[string]string{"mesh-dns": "true", "typo": "x"},
			want:     config.Istio{External: defaultExternal, Local: defaultLocal, MeshDNS: true},
			findings: []string{"data.mesh-dns", "data.typo"},
		},
		"delegates": {
			data: map[string]string{"delegates": " true\n"},
			want: config.Istio{External: defaultExternal, Local: defaultLocal, Delegates: true},
		},
		"no delegates": {
			data: map[string]string{"delegates": "false"},
			want: config.Istio{External: defaultExternal, Local: defaultLocal},
		},
		"sidecars do not answer DNS": {
			data: map[string]string{"mesh-dns": "false"},
			want: config.Istio{External: defaultExternal, Local: defaultLocal},
		},
		"not in the mesh": {
			data: map[string]string{"external-in-mesh": "false", "export-to": "*"},
			want: config.Istio{External: defaultExternal, Local: defaultLocal, Export: config.Export{Default: []string{"*"}}},
		},
		"no loopback": {
			data:            map[string]string{"loopback": " false ", "private-address": "mesh-only"},
			want:            config.Istio{External: defaultExternal, Local: defaultLocal},
			withoutLoopback: true,
		},
		"the loopback is the address": {
			data: map[string]string{"loopback": "true", "private-address": "loopback"},
			want: config.Istio{External: defaultExternal, Local: defaultLocal, PrivateLoopback: true},
		},
		"an old ConfigMap keeps working": {
			data: map[string]string{
				"local-gateway.mesh": "mesh", "enable-virtualservice-status": "true", "typo": "x", "_example": "x",
				"local-gateway.ns.l": "c.istio-system.svc.cluster.local",
			},
			want:     config.Istio{External: defaultExternal, Local: []config.Gateway{gateway("ns", "l", "c", nil)}},
			findings: []string{"data.enable-virtualservice-status", "data.local-gateway.mesh", "data.typo"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, findings, err := config.ParseIstio(tt.data, "cluster.local", "knative-serving")
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Loopback = !tt.withoutLoopback
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)", diff)
			}
			var paths []string
			for _, f := range findings {
				paths = append(paths, f.Path)
			}
			if diff := cmp.Diff(tt.findings, paths); diff != "" {
				t.Error("findings (-want +got)", diff)
			}
		})
	}
}

func TestParseIstioRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		data map[string]string
		want string
	}{
		"mixed formats":            {map[string]string{"external-gateways": "[]", "gateway.a.b": "c.d.svc"}, "cannot be mixed"},
		"no default gateway":       {map[string]string{"local-gateways": "- {namespace: a, name: b, service: c.d.svc, labelSelector: {}}"}, "exactly one"},
		"two default gateways":     {map[string]string{"local-gateways": "- &g {namespace: a, name: b, service: c.d.svc}\n- *g"}, "exactly one"},
		"a list that is a comment": {map[string]string{"local-gateways": "# none"}, `write "[]"`},
		"no list":                  {map[string]string{"external-gateways": "none"}, `labelSelector}, found the text "none"`},
		"no YAML":                  {map[string]string{"external-gateways": "- [a"}, "labelSelector}: line 1: did not find expected"},
		"an entry of text":         {map[string]string{"external-gateways": "- a"}, `entry 0: want {namespace, name, service, labelSelector}, found the text "a"`},
		"a list for a field":       {map[string]string{"external-gateways": "- {name: [a]}"}, "entry 0: name: want text, found a list"},
		"a misspelt name":          {map[string]string{"external-gateways": "- {namespace: a, service: c.d.svc, nam: foo}"}, "entry 0: name is missing; a gateway needs namespace, name and service; there is no field nam"},
		"nothing but misspelt":     {map[string]string{"external-gateways": "- nam: foo"}, "namespace, name, service are missing; a gateway needs namespace, name and service; there is no field nam"},
		"no name":                  {map[string]string{"external-gateways": "- {namespace: a, service: c.d.svc}"}, "name is missing"},
		"a short service":          {map[string]string{"external-gateways": "- {namespace: a, name: b, service: c.d}"}, "want <name>.<namespace>.svc"},
		"no service, old format":   {map[string]string{"gateway.a.b": ""}, "service is missing"},
		"in the mesh, perhaps":     {map[string]string{"external-in-mesh": "yes"}, `neither "true" nor "false"`},
		"DNS in the mesh, perhaps": {map[string]string{"mesh-dns": "yes"}, `mesh-dns: "yes" is neither "true" nor "false"`},
		"public hosts nowhere":     {map[string]string{"external-in-mesh": "false", "external-gateways": "[]"}, "without any entry"},
		"export to all and one":    {map[string]string{"export-to": "*, shop"}, "stands alone"},
		"export to no namespace":   {map[string]string{"export-to": "shop,,bank"}, `"" is not the name of a namespace`},
		"export of no namespace":   {map[string]string{"export-to.a_b": "shop"}, `"a_b" is not the name of a namespace`},
		"delegates, perhaps":       {map[string]string{"delegates": "True"}, `delegates: "True" is neither "true" nor "false"`},
		"a loopback, perhaps":      {map[string]string{"loopback": "yes"}, `neither "true" nor "false"`},
		"another address":          {map[string]string{"private-address": "knative"}, `neither "mesh-only" nor "loopback"`},
		"an address to nowhere":    {map[string]string{"loopback": "false", "private-address": "loopback"}, "leads nowhere"},
		"a name with dots":         {map[string]string{"external-gateways": "- {namespace: a, name: b.c, service: c.d.svc}"}, `entry 0: gateway a/b.c: "b.c": must not contain dots`},
		"a name with dots, older":  {map[string]string{"local-gateway.a.b.c": "c.d.svc"}, `local-gateway.a.b.c: gateway a/b.c: "b.c": must not contain dots`},
		"an odd namespace":         {map[string]string{"local-gateways": "- {namespace: A, name: b, service: c.d.svc}"}, `"A": a lowercase`},
		"one Gateway for both":     {map[string]string{"external-gateways": "- {namespace: a, name: b, service: c.d.svc}", "local-gateways": "- {namespace: a, name: b, service: e.d.svc}"}, "Gateway a/b is a local gateway and an external one"},
		"one for both, older form": {map[string]string{"gateway.a.b": "c.d.svc", "local-gateway.a.b": "c.d.svc"}, "Gateway a/b is a local gateway and an external one"},
		"the other one's default":  {map[string]string{"external-gateways": "- {namespace: knative-serving, name: knative-local-gateway, service: c.d.svc}"}, "is a local gateway and an external one"},
		"both, by a label": {map[string]string{"external-gateways": `
- {namespace: a, name: b, service: c.d.svc}
- {namespace: a, name: x, service: c.d.svc, labelSelector: {matchLabels: {zone: x}}}`, "local-gateways": "- {namespace: a, name: x, service: e.d.svc}"}, "Gateway a/x is a local gateway and an external one"},
		"a broken selector": {map[string]string{"external-gateways": "- {namespace: a, name: b, service: c.d.svc, labelSelector: {matchExpressions: [{key: a, operator: Nah}]}}"}, "labelSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := config.ParseIstio(tt.data, "cluster.local", "knative-serving")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestFindingsSayWhatToDo: which entry, which field, in words that are not Go's.
func TestFindingsSayWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		data map[string]string
		want []string
	}{
		"empty, meant as none": {map[string]string{"local-gateways": ""}, []string{
			`key local-gateways of config-istio has no effect: it is empty, and empty means the default; for no gateway write "[]"`}},
		"empty beside the older form": {map[string]string{"local-gateways": " ", "local-gateway.a.b": "c.d.svc"}, []string{
			"key local-gateways of config-istio has no effect: it is empty, and keys of the older form say which gateways there are; delete it"}},
		"DNS for nothing": {map[string]string{"mesh-dns": "true"}, []string{
			`key mesh-dns of config-istio has no effect: callers' sidecars serve no public hosts; write external-in-mesh: "true" too, or delete it`}},
		"misspelt fields": {map[string]string{"local-gateways": `
- {namespace: a, name: b, service: c.d.svc}
- {namespace: a, name: e, service: c.d.svc, labelSelectors: {}, labelSelector: {matchLabel: {x: y}, matchExpressions: [{key: a, operator: Exists, value: b}]}}`}, []string{
			"entry 1 of local-gateways of config-istio has no field labelSelector.matchExpressions[0].value, so what is written there has no effect; correct its spelling or remove it",
			"entry 1 of local-gateways of config-istio has no field labelSelector.matchLabel, so what is written there has no effect; correct its spelling or remove it",
			"entry 1 of local-gateways of config-istio has no field labelSelectors, so what is written there has no effect; correct its spelling or remove it"}},
		"a field twice": {map[string]string{"external-gateways": "- {namespace: a, name: b, name: e, service: c.d.svc}"}, []string{
			"an entry of external-gateways of config-istio has field name twice, and the last one counts; remove one"}},
		"labels may have any name, and case does not matter": {map[string]string{"local-gateways": `
- {Namespace: a, name: b, service: c.d.svc}
- {namespace: a, name: e, service: c.d.svc, labelSelector: {matchLabels: {colour: red}}}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings, err := config.ParseIstio(tt.data, "cluster.local", "knative-serving")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

func TestForChoosesByLabelAndElseTheDefault(t *testing.T) {
	istio := config.Istio{External: []config.Gateway{
		gateway("a", "default", "c", nil),
		gateway("a", "x", "c", map[string]string{"zone": "x"}),
		gateway("a", "x2", "c", map[string]string{"zone": "x"}),
	}}
	for zone, want := range map[string][]config.Gateway{
		"x": istio.External[1:],
		"y": istio.External[:1],
	} {
		if diff := cmp.Diff(want, istio.For(config.External, map[string]string{"zone": zone})); diff != "" {
			t.Error("zone", zone, "(-want +got)", diff)
		}
	}
	if got := istio.For(config.Local, nil); len(got) != 0 {
		t.Error("For(Local) =", got, "want none")
	}
}

func TestParseNetwork(t *testing.T) {
	got, err := config.ParseNetwork(map[string]string{"cluster-local-domain-tls": "enabled", "enable-mesh-pod-addressability": "true"})
	if want := (config.Network{ClusterLocalDomainTLS: true, MeshPodAddressability: true}); err != nil || got != want {
		t.Errorf("ParseNetwork = %+v, %v, want %+v", got, err, want)
	}
	if _, err := config.ParseNetwork(map[string]string{"cluster-local-domain-tls": "perhaps"}); err == nil {
		t.Error("ParseNetwork accepts a wrong value")
	}
	_, err = config.ParseNetwork(map[string]string{"rollout-duration": "soon"})
	if err == nil || strings.Contains(err.Error(), "strconv") || !strings.Contains(err.Error(), `"rollout-duration": want a number, found "soon"`) {
		t.Errorf("ParseNetwork says %v", err)
	}
}
