package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// served is a host with the routes that all rules together give it.
type served struct {
	scope Scope
	host  Host
	// parts are the routes that each rule gives it, and rules which these are: hosts of the same rules have the
	// same routes.
	parts  [][]Route
	rules  string
	source int
}

// virtualHosts reads the rules. Rules for the same host are one list of routes,
// and hosts with equal routes are one virtual host, in the order of first
// mention.
func (in *ingest) virtualHosts() []VirtualHost {
	all := hostList{at: map[scopedName]int{}}
	for i, rule := range in.ing.Spec.Rules {
		scope, known := snapshot.ScopeOf(rule)
		switch {
		case !known:
			in.report(finding.VisibilityUnknown, ruleField(i)+".visibility",
				"visibility %q is not known, so the rule is not served; write ExternalIP or ClusterLocal", rule.Visibility)
			continue
		case rule.HTTP == nil || len(rule.HTTP.Paths) == 0:
			in.report(finding.RuleWithoutHTTP, ruleField(i), "%s has no http.paths, so its hosts lead nowhere; add a path", ruleField(i))
			continue
		case len(rule.Hosts) == 0:
			in.report(finding.RuleWithoutHosts, ruleField(i),
				"%s has no hosts, and net-mesh serves no host that is not named; name the hosts", ruleField(i))
			continue
		}
		routes := in.routes(i, rule.HTTP.Paths)
		for _, host := range in.hosts(i, rule.Hosts, scope) {
			all.add(served{scope: scope, host: host, source: i}, routes)
		}
	}
	return in.group(all.hosts)
}

// hosts reads the hosts of a rule; spellings of one host count once.
func (in *ingest) hosts(rule int, raw []string, scope Scope) []Host {
	var out []Host
	seen := map[string]bool{}
	for j, h := range raw {
		field := fmt.Sprintf("%s.hosts[%d]", ruleField(rule), j)
		host, ok := in.host(h, scope, field)
		if ok && !seen[host.Name] {
			seen[host.Name] = true
			out = append(out, host)
			in.claim(Claim{Scope: scope, Host: host, Source: field})
		}
	}
	return out
}

func (in *ingest) claim(c Claim) {
	in.asked.Hosts = append(in.asked.Hosts, c.Host.Names()...)
	if once := (scopedName{c.Scope, c.Host.Name}); !in.claimed[once] {
		in.claimed[once] = true
		in.claims = append(in.claims, c)
	}
}

// hostList is what the rules serve, in the order of first mention.
type hostList struct {
	hosts []*served
	at    map[scopedName]int
}

// add joins the routes of rules for one host.
func (l *hostList) add(s served, routes []Route) {
	if len(routes) == 0 {
		return
	}
	once := scopedName{s.scope, s.host.Name}
	i, ok := l.at[once]
	if !ok {
		i = len(l.hosts)
		l.at[once] = i
		l.hosts = append(l.hosts, &s)
	}
	first := l.hosts[i]
	first.parts = append(first.parts, routes)
	first.rules += "," + strconv.Itoa(s.source)
}

// group orders the routes of hosts of the same rules once: hosts and paths are the writer's to multiply.
func (in *ingest) group(all []*served) []VirtualHost {
	var out []VirtualHost
	for _, scope := range scopes {
		var sets [][]*served
		byRules := map[string]int{}
		for _, s := range all {
			if s.scope != scope {
				continue
			}
			i, ok := byRules[s.rules]
			if !ok {
				i = len(sets)
				byRules[s.rules] = i
				sets = append(sets, nil)
			}
			sets[i] = append(sets[i], s)
		}
		at := map[string]int{}
		for _, set := range sets {
			routes := in.inOrder(set, slices.Concat(set[0].parts...))
			key := ""
			if len(sets) > 1 { // a key costs a tenth of a translation, and most Ingresses have one set of a scope
				key = RoutesKey(routes)
			}
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, VirtualHost{Scope: scope, Routes: routes, Source: ruleField(set[0].source)})
			}
			for _, s := range set {
				out[i].Hosts = append(out[i].Hosts, s.host)
			}
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Hosts, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// RoutesKey is equal for equal routes, wherever they were written.
func RoutesKey(routes []Route) string {
	bare := slices.Clone(routes)
	for i := range bare {
		bare[i].Source = Source{}
	}
	key, err := json.Marshal(bare)
	if err != nil {
		// Strings and numbers always marshal.
		panic(fmt.Sprintf("marshalling routes: %v", err))
	}
	return string(key)
}
