package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/kmeta"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// exposureName is <ingress>-<kind>, net-istio's name, for the first Exposure of a
// kind. Further ones carry a hash of a host's full name: it stays the same when
// routes, modes or abbreviations change, and no host is in two of a kind. Hosts with one
// hash can be made in seconds, and two objects of one name would be written in turns for
// ever, so a name that is taken gets more of the hash.
func exposureName(ingress string, kind Kind, earlier []Exposure, host string) string {
	var name string
	for _, mark := range marks(host) {
		name = kmeta.ChildName(ingress, "-"+string(kind)+mark)
		if !slices.ContainsFunc(earlier, func(e Exposure) bool { return e.Name == name }) {
			break
		}
	}
	return name
}

// delegateName is <ingress>-delegate for the first host that the Ingress asks for, and carries a hash
// of the host for others, as exposureName has it. Others write it into their VirtualServices, so it
// depends on nothing else: neither on routes nor on whether the first host can be served.
func delegateName(ingress string, first bool, earlier []Delegate, host string) string {
	var name string
	for i, mark := range marks(host) {
		name = snapshot.DelegateName(ingress, mark)
		if (i == 0) == first && !slices.ContainsFunc(earlier, func(e Delegate) bool { return e.Name == name }) {
			break
		}
	}
	return name
}

// marks tell the objects of an Ingress from one another: the first carries none.
func marks(host string) [4]string {
	hash := "-" + digest(host)
	return [...]string{"", hash[:9], hash[:17], hash}
}

// listenerName is net-istio's name for the Gateway of an Ingress at a gateway
// Service, where that name is unique. net-istio cuts long names, and replaces
// dotted ones (Istio wants a DNS label) by 32 bits of Adler: two Ingresses may then
// fight over one Gateway. Those get a proper hash.
func listenerName(ingress string, scope model.Scope, service types.NamespacedName) string {
	at := service.String()
	if scope == config.Local {
		at += "-local"
	}
	suffix := fmt.Sprintf("-%d", adler32.Checksum([]byte(at)))
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

// sharedListenerName is net-istio's name for the Gateway of a wildcard certificate at a
// gateway Service; it is unique in the namespace of the Secret but for collisions of 32
// bits. Whoever comes second then finds the Gateway of another Secret, and leaves it.
func sharedListenerName(secret string, service types.NamespacedName) string {
	return fmt.Sprintf("wildcard-%x", adler32.Checksum([]byte(secret+"-"+service.Namespace+"-"+service.Name)))
}

// sharedCopyName is net-istio's name for the copy of a wildcard certificate, where it
// tells the namespace: Secret b--c of namespace a and Secret c of namespace a--b would have
// one name, and those of a--b could take that of a. Such namespaces get a hash, and so do
// names that would be too long.
func sharedCopyName(secret types.NamespacedName) string {
	name := secret.Namespace + "--" + secret.Name + "-wildcard"
	if strings.Contains(secret.Namespace, "--") || len(name) > validation.DNS1123SubdomainMaxLength {
		return digest(secret)[:32] + "-wildcard"
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
