package cluster

import (
	"path/filepath"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

func (c Cluster) program(name string) string { return filepath.Join(c.Programs, name) }

func (c Cluster) pki(file string) string { return c.Host.Path("pki", file) }

// etcd does without fsync: a lab outlives killed processes, not a power cut.
func (c Cluster) etcd() host.Daemon {
	return host.Daemon{Name: "etcd", Args: []string{
		c.program("etcd"), "--data-dir", c.Host.Path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
		"--listen-peer-urls", "http://127.0.0.1:2380",
	}}
}

func (c Cluster) apiserver() host.Daemon {
	return host.Daemon{Name: "apiserver", Args: []string{
		c.program("kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379",
		"--service-cluster-ip-range=" + serviceRange, "--bind-address=0.0.0.0", "--advertise-address=" + host.NodeIP, "--secure-port=" + apiPort,
		"--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--token-auth-file=" + c.pki("tokens"), "--authorization-mode=Node,RBAC", "--client-ca-file=" + c.pki("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc." + Domain,
		"--service-account-key-file=" + c.pki("sa.pub"), "--service-account-signing-key-file=" + c.pki("sa.key"),
		"--allow-privileged=true", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-preferred-address-types=InternalIP", "--cert-dir=" + c.Host.Path("apiserver"),
	}}
}

func (c Cluster) controllerManager() host.Daemon {
	return host.Daemon{Name: "controller-manager", Args: []string{
		c.program("kube-controller-manager"), "--kubeconfig=" + c.Kubeconfig(), "--leader-elect=false",
		"--service-account-private-key-file=" + c.pki("sa.key"), "--root-ca-file=" + c.pki("ca.crt"), "--use-service-account-credentials=true",
		"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key"),
		"--allocate-node-cidrs=true", "--cluster-cidr=" + podRange, "--cert-dir=" + c.Host.Path("controller-manager"),
		"--controllers=*,-service-lb-controller,-node-route-controller",
	}}
}

func (c Cluster) scheduler() host.Daemon {
	return host.Daemon{Name: "scheduler", Args: []string{
		c.program("kube-scheduler"), "--kubeconfig=" + c.Kubeconfig(), "--leader-elect=false", "--cert-dir=" + c.Host.Path("scheduler"),
	}}
}
