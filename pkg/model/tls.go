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
		if !fit {
			continue
		}
		for _, scope := range scopes {
			c := Certificate{
				Scope: scope, Hosts: hosts.of(scope), Secret: secret.Secret, UID: secret.UID, Labels: secret.Labels,
				Source: path, Index: i,
			}
			if c = in.shared(path, c, secret); len(c.Hosts) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

// tlsHosts are the hosts of a TLS block by scope.
type tlsHosts struct{ public, local []string }

// of a scope, sorted.
func (h tlsHosts) of(scope Scope) []string {
	hosts := h.public
	if scope == config.Local {
		hosts = h.local
	}
	hosts = slices.Clone(hosts)
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// tlsHosts separates the hosts of a block, and leaves out those that nobody can end TLS
// for.
func (in *ingest) tlsHosts(path string, block v1alpha1.IngressTLS, served []VirtualHost) tlsHosts {
	var hosts tlsHosts
	for _, raw := range block.Hosts {
		switch scope, ok := in.scopeOf(raw, served); {
		case !ok:
			in.report(finding.TLSHostUnknown, path, "%s names host %q, which no rule serves; remove it or add a rule", path, raw)
		case scope == config.External:
			hosts.public = append(hosts.public, raw)
		default:
			hosts.local = append(hosts.local, raw)
		}
	}
	if len(hosts.local) > 0 && len(in.world.Local) == 0 {
		in.report(finding.LocalTLSWithoutGateway, path,
			"%s asks for TLS on %s, but no local gateway is configured to end it; leave TLS out (mTLS of the mesh protects the way) or configure a local gateway",
			path, strings.Join(hosts.of(config.Local), ", "))
		hosts.local = nil
	}
	return hosts
}

// scopeOf finds the virtual host that serves a name, public ones first.
func (in *ingest) scopeOf(raw string, served []VirtualHost) (Scope, bool) {
	for _, vh := range served {
		for _, h := range vh.Hosts {
			if vh.Scope == config.External {
				h = h.Public()
			}
			if slices.Contains(h.Names(), raw) {
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
	}
	return in.world.Certificates[i], true
}

// shared makes a Certificate a shared one if its Secret names a wildcard. The listener is
// for all names then, whoever uses it, so they are a matter of Secret and namespace alone,
// and hosts that no name fits cannot be served there. Those of cluster-local hosts stay
// the Ingress' own: net-istio shares none, and Serving has none that names a wildcard.
func (in *ingest) shared(path string, c Certificate, secret snapshot.Certificate) Certificate {
	if c.Scope != config.External || len(c.Hosts) == 0 || !slices.ContainsFunc(secret.Names, isWildcard) {
		return c
	}
	c.Shared = true
	for _, name := range secret.Names {
		if in.mayListen(name) {
			c.Names = append(c.Names, name)
		}
	}
	var fitting []string
	for _, host := range c.Hosts {
		if slices.ContainsFunc(c.Names, func(name string) bool { return fits(name, host) }) {
			fitting = append(fitting, host)
			continue
		}
		in.report(finding.CertificateInvalid, path,
			"Secret %s of %s holds a certificate for %s, which does not fit host %s; use a certificate that does, or take the host out of the block",
			c.Secret, path, strings.Join(secret.Names, ", "), host)
	}
	c.Hosts = fitting
	return c
}

// mayListen says whether a name of a certificate is one that a Gateway of the Ingress'
// namespace may have. Anybody can put any name into a certificate: what is no host, or is
// everything, and names of other namespaces. Nothing is looked up, since all Ingresses that
// share the certificate have to come to the same result.
func (in *ingest) mayListen(name string) bool {
	domain := in.world.Config.ClusterDomain
	owner, named := namespaceIn(name, domain)
	return hostFault(name) == "" && !reachesOtherNamespaces(name, domain, in.ing.Namespace) && (!named || owner == in.ing.Namespace)
}

func isWildcard(name string) bool { return strings.HasPrefix(name, "*.") }

// fits says whether a name of a certificate, which may be a wildcard, is one for a host. A
// wildcard stands for one label, as callers understand it.
func fits(name, host string) bool {
	if suffix, wild := strings.CutPrefix(name, "*."); wild {
		_, rest, deeper := strings.Cut(host, ".")
		return deeper && rest == suffix
	}
	return name == host
}
