package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Decide chooses exposures, listeners, addresses and probes by the mode table.
func Decide(m model.Model, w snapshot.World) (Plan, []finding.Finding) {
	d := &decider{model: m, world: w, taken: names{}}
	d.plan.Owner = Owner{
		APIVersion: networking.GroupName + "/v1alpha1", Kind: "Ingress",
		Namespace: m.Name.Namespace, Name: m.Name.Name, UID: m.UID,
	}
	d.plan.Labels, d.plan.Annotations, d.plan.Asked = m.Labels, m.Annotations, m.Asked
	d.plan.LoopsBack = loopsBack(w.Config.Istio)
	d.checkGateways()
	d.checkApart()
	d.settle()
	d.listeners()
	d.exposures()
	d.records()
	d.delegates()
	d.checkRoots()
	d.checkServed()
	d.checkOthers()
	d.plan.Public = d.address(config.External)
	d.plan.Private = d.address(config.Local)
	d.probes()
	return d.plan, d.findings
}

// decider carries one Plan while it is made.
type decider struct {
	model    model.Model
	world    snapshot.World
	plan     Plan
	findings []finding.Finding
	taken    names
	// open are the local gateways that the world reaches.
	open map[types.NamespacedName]bool
	// yielded are the names of plan.Yields, which are looked up for each host.
	yielded map[yieldedName]bool
}

func (d *decider) because(subject, choice, reason string) {
	d.plan.Decisions = append(d.plan.Decisions, Decision{Subject: subject, Choice: choice, Because: reason})
}

func (d *decider) report(reason finding.Reason, subject finding.Ref, path, format string, args ...any) {
	d.findings = append(d.findings, finding.Finding{
		Reason: reason, Subject: subject, Path: path, Message: fmt.Sprintf(format, args...),
	})
}

func (d *decider) ingress() finding.Ref {
	return finding.Ref{Kind: "Ingress", Namespace: d.model.Name.Namespace, Name: d.model.Name.Name}
}

// gateways are those config-istio offers this Ingress in a scope.
func (d *decider) gateways(scope model.Scope) []snapshot.Gateway {
	if scope == config.Local {
		return d.world.Local
	}
	return d.world.External
}

// address is what Serving points the placeholder Service of a route at. Several
// gateways are served, but Knative publishes one.
func (d *decider) address(scope model.Scope) []Address {
	gateways := d.gateways(scope)
	if len(gateways) == 0 && scope == config.Local && d.plan.LoopsBack && d.world.Config.Istio.PrivateLoopback {
		host := config.LocalGatewayHost(d.world.Config.ClusterDomain)
		d.because("address "+string(scope), host, "private-address asks for the name of the loopback")
		return []Address{{DomainInternal: host, MeshOnly: true}}
	}
	if len(gateways) == 0 {
		d.because("address "+string(scope), "MeshOnly", "no gateway is configured for this scope")
		return []Address{{MeshOnly: true}}
	}
	d.because("address "+string(scope), gateways[0].ServiceHost, "Service of the first gateway configured for this scope")
	return []Address{{DomainInternal: gateways[0].ServiceHost}}
}

// checkGateways reports gateways that virtual hosts need and that are not there.
func (d *decider) checkGateways() {
	reported := map[finding.Ref]bool{}
	for _, vh := range d.model.VirtualHosts {
		for _, g := range d.gateways(vh.Scope) {
			gateway := gatewayRef(g)
			service := finding.Ref{Kind: "Service", Namespace: g.Service.Namespace, Name: g.Service.Name}
			if !g.Found && !reported[gateway] {
				d.report(finding.GatewayMissing, gateway, "", "Gateway %s of %s does not exist; create it or correct the ConfigMap", g.Name, config.IstioConfigMap)
				reported[gateway] = true
			}
			if !g.Pods.Found && !reported[service] {
				d.report(finding.GatewayServiceMissing, service, "", "Service %s of gateway %s in %s does not exist; create it or correct the ConfigMap", g.Service, g.Name, config.IstioConfigMap)
				reported[service] = true
			}
		}
	}
}
