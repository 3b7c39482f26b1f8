package ingress

import (
	"testing"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgotesting "k8s.io/client-go/testing"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/client/clientset/versioned/fake"
)

// TestAnOldVersionIsLookedUpAgain: the status is written all the same, unless it is there.
func TestAnOldVersionIsLookedUpAgain(t *testing.T) {
	old := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "hello", ResourceVersion: "1"}}
	now := old.DeepCopy()
	now.ResourceVersion, now.Labels = "2", map[string]string{"new": ""}
	after := old.DeepCopy()
	after.Status.InitializeConditions()
	client := fake.NewSimpleClientset(now)
	client.PrependReactor("update", "ingresses", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		if sent := a.(clientgotesting.UpdateAction).GetObject().(*v1alpha1.Ingress); sent.ResourceVersion != now.ResourceVersion {
			return true, nil, apierrs.NewConflict(a.GetResource().GroupResource(), sent.Name, nil)
		}
		return false, nil, nil
	})
	r := &Reconciler{statuses: client.NetworkingV1alpha1()}
	for range 2 {
		if err := r.report(t.Context(), old, after); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.NetworkingV1alpha1().Ingresses("apps").Get(t.Context(), "hello", metav1.GetOptions{})
	if err != nil || len(got.Status.Conditions) != len(after.Status.Conditions) || len(got.Labels) != 1 {
		t.Errorf("error %v, got %+v", err, got)
	}
	var verbs []string
	for _, a := range client.Actions() {
		verbs = append(verbs, a.GetVerb())
	}
	if n := len(verbs); n != 6 { // refused, fetched, taken; refused, fetched, there already; and the look of this test
		t.Errorf("it did %v", verbs)
	}
	if old.Status.Conditions != nil {
		t.Error("the version of the cache was changed")
	}
}

// TestAnotherOfTheNameIsLeftAlone: what was proven of an Ingress is not of the next one.
func TestAnotherOfTheNameIsLeftAlone(t *testing.T) {
	old := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "hello", UID: "1"}}
	now, after := old.DeepCopy(), old.DeepCopy()
	now.UID = "2"
	after.Status.InitializeConditions()
	client := fake.NewSimpleClientset(now)
	client.PrependReactor("update", "ingresses", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		if sent := a.(clientgotesting.UpdateAction).GetObject().(*v1alpha1.Ingress); sent.UID != now.UID {
			return true, nil, apierrs.NewConflict(a.GetResource().GroupResource(), sent.Name, nil)
		}
		return false, nil, nil
	})
	r := &Reconciler{statuses: client.NetworkingV1alpha1()}
	if err := r.report(t.Context(), old, after); err != nil {
		t.Fatal(err)
	}
	got, err := client.NetworkingV1alpha1().Ingresses("apps").Get(t.Context(), "hello", metav1.GetOptions{})
	if err != nil || got.Status.Conditions != nil {
		t.Errorf("error %v, got %+v", err, got.Status)
	}
}
