package configstore

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Unheard drops events: of several Stores one says what is to be said.
var Unheard record.EventRecorder = unheard{}

type unheard struct{}

func (unheard) Event(runtime.Object, string, string, string)          {}
func (unheard) Eventf(runtime.Object, string, string, string, ...any) {}
func (unheard) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
}
