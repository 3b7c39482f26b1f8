package model

import (
	"fmt"
	"slices"
	"strings"

	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// certificates reads the TLS blocks. Hosts whose certificate is missing or unfit
// are left out and reported; they are served without TLS as far as the Ingress
// allows it.
func (in *ingest) certificates(served []VirtualHost) []Certificate {
	var out []Certificate
	for i, block := range in.ing.Spec.TLS {
		path := fmt.Sprintf("spec.tls[%d]", i)
		hosts := in.tlsHosts(path, block, served)
		if _, own := snapshot.SecretOf(in.ing, block); own {
			in.asked.TLS = append(in.asked.TLS, block.Hosts...)
		}
		secret, fit := in.secret(path, block)
		if !fit || len(hosts) == 0 {
			continue
		}
		out = append(out, Certificate{
			Hosts: hosts, Secret: secret.Secret, UID: secret.UID, Labels: secret.Labels, Source: path, Index: i,
		})
	}
	return out
}

// tlsHosts returns the public hosts of a block, sorted.
func (in *ingest) tlsHosts(path string, block v1alpha1.IngressTLS, served []VirtualHost) []string {
	var hosts []string
	for _, raw := range block.Hosts {
		switch scope, ok := in.scopeOf(raw, served); {
		case !ok:
			in.report(finding.TLSHostUnknown, path, "%s names host %q, which no rule serves; remove it or add a rule", path, raw)
		case scope == config.External:
			hosts = append(hosts, raw)
		case len(in.world.Local) == 0:
			in.report(finding.LocalTLSWithoutGateway, path,
				"%s asks for TLS on %q, but no local gateway is configured to end it; leave TLS out (mTLS of the mesh protects the way) or configure a local gateway", path, raw)
		default:
			in.report(finding.LocalTLSUnsupported, path, "%s asks for TLS on the cluster-local host %q, which is not supported yet; it is served without", path, raw)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// scopeOf finds the virtual host that serves a name, public ones first.
func (in *ingest) scopeOf(raw string, served []VirtualHost) (Scope, bool) {
	for _, vh := range served {
		for _, h := range vh.Hosts {
			if h.Name == raw || slices.Contains(h.Short, raw) {
				return vh.Scope, true
			}
		}
	}
	return "", false
}

func (in *ingest) secret(path string, block v1alpha1.IngressTLS) (snapshot.Certificate, bool) {
	name, own := snapshot.SecretOf(in.ing, block)
	i := slices.IndexFunc(in.world.Certificates, func(c snapshot.Certificate) bool { return c.Secret == name })
	switch {
	case !own:
		in.report(finding.SecretForeignNamespace, path, "Secret %s of %s is in another namespace than the Ingress, so it is not used; put the certificate into a Secret of namespace %s", name, path, in.ing.Namespace)
		return snapshot.Certificate{}, false
	case i < 0 || !in.world.Certificates[i].Found:
		in.report(finding.SecretMissing, path, "Secret %s of %s does not exist; create it or correct the block", name, path)
		return snapshot.Certificate{}, false
	case in.world.Certificates[i].Fault != "":
		in.report(finding.CertificateInvalid, path, "Secret %s of %s cannot be used: %s; put a PEM certificate with DNS names into it", name, path, in.world.Certificates[i].Fault)
		return snapshot.Certificate{}, false
	case slices.ContainsFunc(in.world.Certificates[i].Names, isWildcard):
		in.report(finding.WildcardCertUnsupported, path, "Secret %s of %s holds a wildcard certificate, which is not supported yet; use one that names the hosts", name, path)
		return snapshot.Certificate{}, false
	}
	return in.world.Certificates[i], true
}

func isWildcard(name string) bool { return strings.HasPrefix(name, "*.") }
