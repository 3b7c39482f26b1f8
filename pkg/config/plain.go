package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Plain says in plain words what a decoder of YAML or JSON, or of numbers, has to say in
// words of Go. An error that says nothing of that kind stays as it is.
func Plain(err error) error {
	var wrongType *json.UnmarshalTypeError
	var wrongNumber *strconv.NumError
	switch {
	case errors.As(err, &wrongType):
		where := ""
		if wrongType.Field != "" {
			where = wrongType.Field + ": "
		}
		return fmt.Errorf("%swant %s, found %s", where, typeWord(wrongType.Type), valueWord(wrongType.Value))
	case errors.As(err, &wrongNumber):
		want := "a number"
		if wrongNumber.Func == "ParseBool" {
			want = "true or false"
		}
		return errors.New(strings.Replace(err.Error(), wrongNumber.Error(), fmt.Sprintf("want %s, found %q", want, wrongNumber.Num), 1))
	}
	return err
}

func typeWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "fields"
	}
	return "a number that fits"
}

// valueWord translates what encoding/json calls the value it found.
func valueWord(value string) string {
	kind, rest, _ := strings.Cut(value, " ")
	switch kind {
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "fields"
	}
	return strings.TrimSpace("number " + rest)
}
