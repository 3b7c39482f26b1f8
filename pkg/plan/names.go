package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/kmeta"
)

// exposureName is <ingress>-<kind>, net-istio's name, for the first Exposure of a
// kind. Further ones carry a hash of a host's full name: it stays the same when
// routes, modes or abbreviations change, and no host is in two of a kind.
func exposureName(ingress string, kind Kind, earlier int, host string) string {
	suffix := "-" + string(kind)
	if earlier > 0 {
		suffix += "-" + digest(host)[:8]
	}
	return kmeta.ChildName(ingress, suffix)
}

// listenerName is net-istio's name for the Gateway of an Ingress at a gateway
// Service, where that name is unique. net-istio cuts long names, and replaces
// dotted ones (Istio wants a DNS label) by 32 bits of Adler: two Ingresses may then
// fight over one Gateway. Those get a proper hash.
func listenerName(ingress string, service types.NamespacedName) string {
	suffix := fmt.Sprintf("-%d", adler32.Checksum([]byte(service.String())))
	room := validation.DNS1123LabelMaxLength - len(suffix)
	if len(ingress) <= room && !strings.Contains(ingress, ".") {
		return ingress + suffix
	}
	hash := "-" + digest(ingress)[:16]
	readable := strings.ReplaceAll(ingress, ".", "-")
	return readable[:min(len(readable), room-len(hash))] + hash + suffix
}

// portName is net-istio's name for a TLS server; Istio builds the name of the
// route table from it, so it has to differ between Ingresses.
func portName(ingress types.NamespacedName, index int) string {
	name := ingress.Name
	if strings.Contains(name, ".") {
		name = fmt.Sprint(adler32.Checksum([]byte(name)))
	}
	return fmt.Sprintf("%s/%s:%d", ingress.Namespace, name, index)
}

// copyName is net-istio's name for the copy of a Secret; a name that would be too
// long for one is hashed.
func copyName(ingress string, secret types.UID) string {
	name := ingress + "-" + string(secret)
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return digest(ingress)[:16] + "-" + string(secret)
	}
	return name
}

// digest is equal for equal values.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		// Plans are strings, numbers and slices.
		panic(fmt.Sprintf("marshalling %T: %v", v, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
