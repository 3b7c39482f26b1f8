package resources

import (
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

func gateway(p plan.Plan, l plan.Listener) *istiov1.Gateway {
	out := &istiov1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: istiov1.SchemeGroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: meta(p, l.Name),
	}
	out.Spec.Selector = toMap(l.Selector)
	for _, s := range l.Servers {
		out.Spec.Servers = append(out.Spec.Servers, server(s))
	}
	return out
}

func server(s plan.Server) *v1alpha3.Server {
	out := &v1alpha3.Server{
		Hosts: s.Hosts,
		Port:  &v1alpha3.Port{Name: s.Name, Number: s.Port, Protocol: "HTTP"},
	}
	switch {
	case s.Credential != "":
		out.Port.Protocol = "HTTPS"
		out.Tls = &v1alpha3.ServerTLSSettings{
			Mode:           v1alpha3.ServerTLSSettings_SIMPLE,
			CredentialName: s.Credential,
		}
	case s.Redirect:
		out.Tls = &v1alpha3.ServerTLSSettings{HttpsRedirect: true}
	}
	return out
}
