package resources

import (
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

func ownGateway(p plan.Plan, l plan.Listener) *istiov1.Gateway {
	return gateway(meta(p, l.Name), l)
}

// sharedGateway names the Secret that it exists for, and no owner: whoever writes it adds
// those that need it.
func sharedGateway(l plan.Listener) *istiov1.Gateway {
	labels, annotations := origin(l.Certificate)
	return gateway(metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name, Labels: labels, Annotations: annotations}, l)
}

func gateway(meta metav1.ObjectMeta, l plan.Listener) *istiov1.Gateway {
	out := &istiov1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: istiov1.SchemeGroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: meta,
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
