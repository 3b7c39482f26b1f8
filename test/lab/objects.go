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
