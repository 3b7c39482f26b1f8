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
			for _, part := range in.parts(path, c, secret) {
				if len(part.Hosts) > 0 {
					out = append(out, part)
				}
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
			path, finding.List(hosts.local))
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

// parts divides a Certificate of a Secret that names a wildcard: what the wildcards fit is shared with
// all that use the Secret, and what another of its names fits stays the Ingress' own, since only hosts that
// it claims may be listened for there. The shared listener is for all wildcards, whoever uses it, so they
// are a matter of Secret and namespace alone. Those of cluster-local hosts are not shared: net-istio shares
// none, and Serving has none that names a wildcard.
func (in *ingest) parts(path string, c Certificate, secret snapshot.Certificate) []Certificate {
	if c.Scope != config.External || len(c.Hosts) == 0 || !slices.ContainsFunc(secret.Names, isWildcard) {
		return []Certificate{c}
	}
	shared, own := c, c
	shared.Shared, shared.Hosts, own.Hosts = true, nil, nil
	for _, name := range secret.Names {
		if in.mayListen(name, secret.Names) {
			shared.Names = append(shared.Names, name)
		}
	}
	for _, host := range c.Hosts {
		switch {
		case slices.ContainsFunc(shared.Names, func(name string) bool { return fits(name, host) }):
			shared.Hosts = append(shared.Hosts, host)
		case slices.Contains(secret.Names, host):
			own.Hosts = append(own.Hosts, host)
		default:
			in.report(finding.CertificateInvalid, path,
				"Secret %s of %s holds a certificate for %s, which does not fit host %s; use a certificate that does, or take the host out of the block",
				c.Secret, path, finding.List(secret.Names), host)
		}
	}
	return []Certificate{shared, own}
}

// mayListen says whether a name of a certificate is one that a shared Gateway of the
// Ingress' namespace may have: a wildcard, or the domain of one. Anybody can put any name
// into a certificate: names of others, what is no host, or is everything. Nothing is
// looked up, since all Ingresses that share the certificate have to come to the same result.
func (in *ingest) mayListen(name string, names []string) bool {
	if !isWildcard(name) && !slices.Contains(names, "*."+name) {
		return false
	}
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
