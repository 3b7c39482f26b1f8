package images

import (
	"path"
	"path/filepath"

	"github.com/net-mesh/net-mesh/test/lab/pins"
)

// Sources are the folders and files that the lab's images are made of.
type Sources struct {
	Kubernetes, Istio, Knative string // folders of programs
	IstioModule                string // source of the Istio module, for the proxy's bootstrap template
	Pause                      string // the program that holds a pod's namespaces
	Envoy                      string // the proxy binary
	Base                       string // root file system
}

// Pause is the image that containerd needs before any pod starts.
func (s Sources) PauseImage() Image {
	return Image{Name: "pause", Files: map[string]string{"/pause": s.Pause}, Entrypoint: []string{"/pause"}, User: Nobody}
}

// Cluster returns CoreDNS.
func (s Sources) Cluster() []Image {
	return []Image{{Name: "coredns", Files: map[string]string{"/coredns": filepath.Join(s.Kubernetes, "coredns")}, Entrypoint: []string{"/coredns"}}}
}

// Mesh returns istiod and the proxy, with Istio's own user, which its iptables rules leave alone.
func (s Sources) Mesh() []Image {
	const istioUser = "1337:1337"
	bootstrap := filepath.Join(s.IstioModule, "tools", "packaging", "common", "envoy_bootstrap.json")
	const template = "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json"
	return []Image{
		{
			Name: "pilot", User: istioUser, Entrypoint: []string{"/usr/local/bin/pilot-discovery"},
			Files: map[string]string{"/usr/local/bin/pilot-discovery": filepath.Join(s.Istio, "pilot-discovery"), template: bootstrap},
		},
		{
			Name: "proxyv2", User: istioUser, Entrypoint: []string{"/usr/local/bin/pilot-agent"}, Base: s.Base,
			Files: map[string]string{
				"/usr/local/bin/pilot-agent": filepath.Join(s.Istio, "pilot-agent"),
				"/usr/local/bin/envoy":       s.Envoy, template: bootstrap,
			},
		},
		{Name: "base", Base: s.Base, Entrypoint: []string{"sleep", "infinity"}, User: Nobody},
	}
}

// Serving returns Knative Serving's images, Tests those of the suites.
func (s Sources) Serving() []Image { return programs(s.Knative, "", pins.ServingPrograms) }

// Tests returns the images of the test suites.
func (s Sources) Tests() []Image { return programs(s.Knative, "", pins.TestPrograms) }

// ServingTag is the tag of the images of Serving's own suites, of which some have the name of another.
const ServingTag = "serving"

// ServingTests returns the images of Serving's own suites, by the folder of their programs.
func ServingTests(folder string) []Image {
	return programs(folder, ServingTag, pins.ServingTestPrograms)
}

// programs are images of packages that were built into a folder, named after the last part of their path. The
// tag "" is the lab's.
func programs(folder, tag string, packages []string) []Image {
	var all []Image
	for _, p := range packages {
		image := Program(path.Base(p), filepath.Join(folder, path.Base(p)))
		image.Tag = tag
		all = append(all, image)
	}
	return all
}

// Program is an image of one static program, laid out as ko does.
func Program(name, binary string) Image {
	file := "/ko-app/" + name
	return Image{Name: name, Files: map[string]string{file: binary}, Entrypoint: []string{file}, User: Nobody}
}
