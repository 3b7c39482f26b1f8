package doctor

import (
	"slices"

	"istio.io/api/security/v1beta1"
	securityv1 "istio.io/client-go/pkg/apis/security/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type mtlsMode = v1beta1.PeerAuthentication_MutualTLS_Mode

const (
	unset      = v1beta1.PeerAuthentication_MutualTLS_UNSET
	disabled   = v1beta1.PeerAuthentication_MutualTLS_DISABLE
	permissive = v1beta1.PeerAuthentication_MutualTLS_PERMISSIVE
	strict     = v1beta1.PeerAuthentication_MutualTLS_STRICT
)

// mtls says what the sidecar of a workload demands at a port: what the narrowest
// PeerAuthentication says that says anything, the oldest of several, and else PERMISSIVE
// (istio.io/api security/v1beta1/peer_authentication.proto).
func (f *facts) mtls(w Workload, port uint32) mtlsMode {
	if own := f.peerAuthentication(w.Namespace, func(p *securityv1.PeerAuthentication) bool {
		s := p.Spec.GetSelector().GetMatchLabels()
		return len(s) > 0 && labels.SelectorFromSet(s).Matches(labels.Set(w.Labels))
	}); own != nil {
		if mode := own.Spec.GetPortLevelMtls()[port].GetMode(); mode != unset {
			return mode
		}
		if mode := own.Spec.GetMtls().GetMode(); mode != unset {
			return mode
		}
	}
	return f.namespaceMTLS(w.Namespace)
}

// namespaceMTLS is what holds for a namespace as a whole.
func (f *facts) namespaceMTLS(namespace string) mtlsMode {
	for _, in := range []string{namespace, f.mesh.root} {
		p := f.peerAuthentication(in, func(p *securityv1.PeerAuthentication) bool { return len(p.Spec.GetSelector().GetMatchLabels()) == 0 })
		if p != nil && p.Spec.GetMtls().GetMode() != unset {
			return p.Spec.GetMtls().GetMode()
		}
	}
	return permissive
}

func (f *facts) peerAuthentication(namespace string, fits func(*securityv1.PeerAuthentication) bool) *securityv1.PeerAuthentication {
	all := slices.DeleteFunc(slices.Clone(f.PeerAuthentications), func(p *securityv1.PeerAuthentication) bool { return p.Namespace != namespace || !fits(p) })
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *securityv1.PeerAuthentication) int { return older(a, b) })
}

// notRead says whether a kind could not be read.
func (f *facts) notRead(kind string) bool {
	return slices.ContainsFunc(f.Unread, func(u Unread) bool { return u.Kind == kind })
}
