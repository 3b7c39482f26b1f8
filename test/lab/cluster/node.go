package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

// pauseImage holds each pod's namespaces.
const pauseImage = "dev.local/pause:lab"

func (c Cluster) socket() string { return filepath.Join(c.Host.Run(), "containerd.sock") }

// Runtime brings up containerd.
func (c Cluster) Runtime(ctx context.Context) error {
	if err := os.MkdirAll(c.Host.Run(), 0o755); err != nil {
		return err
	}
	files := map[string]string{"cni/10-ptp.conflist": c.cni(), "containerd.toml": c.containerdConfig()}
	if err := c.write(files); err != nil {
		return err
	}
	started, err := c.Host.Ensure(ctx, host.Daemon{Name: "containerd", Args: []string{"containerd", "-c", c.Host.Path("containerd.toml")}})
	if err != nil {
		return err
	}
	if started {
		// A kubelet that lived through the loss of its runtime takes minutes to trust it again.
		if err := c.Host.Stop(ctx, "kubelet"); err != nil {
			return err
		}
	}
	return host.WaitFor(ctx, "containerd", readyLimit, func(ctx context.Context) error {
		if !c.Host.Alive("containerd") {
			return fmt.Errorf("containerd has ended; its log says:\n%s", c.Host.LogTail("containerd", 8))
		}
		_, err := c.ctr(ctx, "version")
		return err
	})
}

// Node brings up kubelet and kube-proxy; the API server and containerd must be there.
func (c Cluster) Node(ctx context.Context) error {
	files := map[string]string{
		"kubelet.yaml": c.kubeletConfig(), "kube-proxy.yaml": c.proxyConfig(),
		"resolv.conf": "nameserver " + DNSIP + "\n",
	}
	if err := c.write(files); err != nil {
		return err
	}
	daemons := []host.Daemon{
		{Name: "kubelet", Args: []string{
			c.program("kubelet"), "--config=" + c.Host.Path("kubelet.yaml"), "--kubeconfig=" + c.Kubeconfig(),
			"--hostname-override=" + nodeName, "--node-ip=" + host.NodeIP, "--cert-dir=" + c.Host.Path("kubelet-pki"),
		}},
		{Name: "kube-proxy", Args: []string{c.program("kube-proxy"), "--config=" + c.Host.Path("kube-proxy.yaml")}},
	}
	for _, d := range daemons {
		if _, err := c.Host.Ensure(ctx, d); err != nil {
			return err
		}
	}
	return c.wait(ctx, "the node to be Ready", []string{"containerd", "kubelet"}, "wait", "--for=condition=Ready", "node/"+nodeName, "--timeout=1s")
}

func (c Cluster) write(files map[string]string) error {
	for name, text := range files {
		path := c.Host.Path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cni joins pods by point-to-point links: on a bridge, a pod that calls a Service whose endpoint is on
// the same bridge would get its answer past the address translation.
func (c Cluster) cni() string {
	return fmt.Sprintf(`{"cniVersion":"0.4.0","name":"lab","plugins":[{"type":"ptp","ipMasq":false,"mtu":1500,
"ipam":{"type":"host-local","dataDir":%q,"ranges":[[{"subnet":"10.244.0.0/22"}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}
`, c.Host.Path("ipam"))
}

// containerdConfig: restrict_oom_score_adj because a machine in a sandbox may lack CAP_SYS_RESOURCE,
// disable_apparmor because its kernel may lack that too.
func (c Cluster) containerdConfig() string {
	return fmt.Sprintf(`version = 2
root = %q
state = %q
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
[plugins."io.containerd.internal.v1.opt"]
  path = %q
`, c.Host.Path("containerd"), filepath.Join(c.Host.Run(), "containerd"), c.socket(), pauseImage, c.Host.Path("cni"), c.Host.Path("opt"))
}

// kubeletConfig puts containers below the lab's own control group: they end with it, and share its weight
// by their requests.
func (c Cluster) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: true
cgroupRoot: %s
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix://%s
clusterDNS: [%s]
clusterDomain: %s
resolvConf: %s
volumePluginDir: %s
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
failSwapOn: false
maxPods: 500
evictionHard: {memory.available: "100Mi", nodefs.available: "1%%", imagefs.available: "1%%", nodefs.inodesFree: "1%%"}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
registryPullQPS: 0
kubeAPIQPS: 200
kubeAPIBurst: 400
syncFrequency: 10s
nodeStatusUpdateFrequency: 10s
`, c.Host.ControlGroup(), c.socket(), DNSIP, Domain, c.Host.Path("resolv.conf"), c.Host.Path("volume-plugins"))
}

// proxyConfig leaves the machine's connection tracking limits alone.
func (c Cluster) proxyConfig() string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: %s
hostnameOverride: %s
clientConnection: {kubeconfig: %s}
iptables: {minSyncPeriod: 100ms}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, podRange, nodeName, c.Kubeconfig())
}
