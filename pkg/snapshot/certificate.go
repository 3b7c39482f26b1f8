package snapshot

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
)

// certificate reduces a Secret to what its certificate says. The key is not
// looked at.
func certificate(r Reader, name types.NamespacedName) Certificate {
	s, found := r.Secret(name)
	if !found {
		return Certificate{Secret: name}
	}
	out := Certificate{Secret: name, Found: true, UID: s.UID}
	if uid, ok := s.Labels[networking.CertificateUIDLabelKey]; ok {
		// Controllers that watch certificates only would not see a copy without it.
		out.Labels = []KV{{Key: networking.CertificateUIDLabelKey, Value: uid}}
	}
	names, err := dnsNames(s.Data[corev1.TLSCertKey])
	if err != nil {
		out.Fault = err.Error()
		return out
	}
	out.Names = names
	return out
}

// dnsNames returns the DNS names of the first certificate of a chain, which is
// the leaf, in lower case.
func dnsNames(chain []byte) ([]string, error) {
	if len(chain) == 0 {
		return nil, fmt.Errorf("it has no %s", corev1.TLSCertKey)
	}
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil, fmt.Errorf("its %s is not PEM", corev1.TLSCertKey)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("its %s is not a certificate: %w", corev1.TLSCertKey, err)
	}
	if len(leaf.DNSNames) == 0 {
		return nil, errors.New("its certificate names no DNS names")
	}
	names := make([]string, 0, len(leaf.DNSNames))
	for _, name := range leaf.DNSNames {
		// Case does not matter to callers (RFC 6125, 6.4.1), and hosts are lower case.
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
