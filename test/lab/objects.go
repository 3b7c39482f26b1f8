package lab

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
)

// fsFile is what an archive is read through.
type fsFile = io.ReadCloser

func identity(o unstructured.Unstructured) string {
	return o.GroupVersionKind().GroupKind().String() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// rollouts waits until the Deployments among the objects are available.
func rollouts(ctx context.Context, c cluster.Cluster, objects []unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		if err := c.Rollout(ctx, o.GetNamespace(), o.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// recreates has Deployments that are there, and are to have the strategy Recreate, have it before they are
// applied: applied on the server it stands beside what was written by default for the one before, and is refused.
func recreates(ctx context.Context, c cluster.Cluster, objects []unstructured.Unstructured) error {
	for _, o := range objects {
		strategy, _, _ := unstructured.NestedString(o.Object, "spec", "strategy", "type")
		if o.GetKind() != "Deployment" || strategy != "Recreate" {
			continue
		}
		found, err := c.Kubectl(ctx, nil, "-n", o.GetNamespace(), "get", "deployment", o.GetName(), "--ignore-not-found", "-o", "name")
		if err != nil {
			return err
		}
		if found == "" {
			continue
		}
		if _, err := c.Kubectl(ctx, nil, "-n", o.GetNamespace(), "patch", "deployment", o.GetName(), "--type=merge",
			"-p", `{"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}`); err != nil {
			return err
		}
	}
	return nil
}
