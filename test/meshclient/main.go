// Command meshclient runs a test suite of Knative in a pod with a sidecar, where no gateway exists. Such a
// suite dials the address in an Ingress' status, and an Ingress that is served by sidecars has none. So the
// suite gets an API server that adds one: any address does, since the sidecar routes by the host.
//
//	meshclient --address IP -- SUITE ARGUMENT...
//
// The arguments get "-kubeconfig FILE" added. All else is the API server of --kubeconfig. What the suite prints
// goes to the file --output too, and its exit code to the file --exit at last: whoever began this may have
// lost the stream.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the API server to ask")
	address := flag.String("address", "", "IP address to dial for an Ingress of the mesh")
	output := flag.String("output", "", "file for what the command prints")
	exit := flag.String("exit", "", "file for its exit code")
	flag.Parse()
	if net.ParseIP(*address) == nil || flag.NArg() == 0 {
		log.Fatal("usage: meshclient --kubeconfig FILE --address IP -- COMMAND [ARGUMENT...]")
	}
	// Who reads the stream may be gone.
	signal.Ignore(syscall.SIGPIPE)
	code, err := toFile(*output, func(w io.Writer) (int, error) { return run(*kubeconfig, *address, flag.Args(), w) })
	if err != nil {
		log.Print(err)
		code = 1
	}
	if err := ended(*exit, code); err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

// toFile has something print into a file, if there is to be one, and on standard output.
func toFile(file string, do func(io.Writer) (int, error)) (int, error) {
	if file == "" {
		return do(os.Stdout)
	}
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	code, err := do(io.MultiWriter(f, careless{os.Stdout}))
	if err != nil {
		fmt.Fprintln(f, err)
	}
	return code, errors.Join(err, f.Close())
}

// careless does not mind that nobody reads.
type careless struct{ io.Writer }

func (c careless) Write(p []byte) (int, error) {
	_, _ = c.Writer.Write(p)
	return len(p), nil
}

// ended writes an exit code down, all at once.
func ended(file string, code int) error {
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file+".part", []byte(strconv.Itoa(code)), 0o644); err != nil { //nolint:gosec // for all to read
		return err
	}
	return os.Rename(file+".part", file)
}

func run(kubeconfig, address string, command []string, out io.Writer) (int, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, err
	}
	proxy, err := newProxy(config, address)
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go func() { log.Fatal(http.Serve(listener, proxy)) }() //nolint:gosec // loopback, for the time of one suite
	dir, err := os.MkdirTemp("", "meshclient-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(pointingTo("http://"+listener.Addr().String()), file); err != nil {
		return 0, err
	}
	cmd := exec.Command(command[0], append(command[1:], "-kubeconfig", file)...)
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

func pointingTo(server string) api.Config {
	config := *api.NewConfig()
	config.Clusters["mesh"] = &api.Cluster{Server: server}
	config.Contexts["mesh"] = &api.Context{Cluster: "mesh"}
	config.CurrentContext = "mesh"
	return config
}

// newProxy passes everything on and adds the address to what is said of Ingresses.
func newProxy(config *rest.Config, address string) (http.Handler, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // watches are streams
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Header.Del("Accept-Encoding") // answers are read here
		},
		ModifyResponse: func(r *http.Response) error { return addAddress(r, address) },
	}, nil
}

// addAddress adds an address beside each "meshOnly" of an answer of one or more Ingresses. Streams are left
// alone: the suite looks at Ingresses, it does not watch them.
func addAddress(r *http.Response, address string) error {
	if filepath.Base(filepath.Dir(r.Request.URL.Path)) != "ingresses" && filepath.Base(r.Request.URL.Path) != "ingresses" || r.Request.URL.Query().Has("watch") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte(`"meshOnly":true`), fmt.Appendf(nil, `"meshOnly":true,"ip":%q`, address))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}
