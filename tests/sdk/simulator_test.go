// Package sdk drives the simulated cloud with the SDKs that Alibaba Cloud publishes, and holds
// its answers to the types of those SDKs.
//
// The simulator is a process of its own. SIMULATOR names the program; the first address
// that it prints is the one it listens on.
package sdk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the simulator's default world holds.
const (
	region           = "cn-hangzhou"
	zone             = "cn-hangzhou-h"
	zone2            = "cn-hangzhou-i"
	zone3            = "cn-hangzhou-j"
	account          = "1234567890123456"
	vpcID            = "vpc-bp1sim"
	vswitch          = "vsw-bp1simh"
	vsw2             = "vsw-bp1simi"
	vsw3             = "vsw-bp1simj"
	nodes            = 25
	role             = "KubernetesMasterRole"
	bandwidthPackage = "cbwp-bp1sim"
	keyID            = "testid"
	secret           = "testsecret"
)

// Where the simulator listens: with and without scheme, and behind TLS for clients that accept
// nothing else.
var (
	simulator string
	endpoint  string
	tlsHost   string
)

// One call as the simulator saw it.
type logged struct {
	Product string            `json:"product"`
	Action  string            `json:"action"`
	Params  map[string]string `json:"params"`
	Caller  struct {
		AccessKey string  `json:"access_key"`
		Role      *string `json:"role"`
		Session   *string `json:"session"`
	} `json:"caller"`
	UserAgent string  `json:"user_agent"`
	Status    int     `json:"status"`
	Code      *string `json:"code"`
	Changed   bool    `json:"changed"`
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	first, stop, err := launch("world.yaml")
	if err != nil {
		return 1, err
	}
	defer stop()
	simulator = first
	address, err := url.Parse(simulator)
	if err != nil {
		return 1, err
	}
	endpoint = address.Host
	front := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(address)
			request.Out.Host = request.In.Host
		},
	})
	defer front.Close()
	tlsHost = strings.TrimPrefix(front.URL, "https://")
	directory, err := os.MkdirTemp("", "sdk")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(directory)
	if err := trust(filepath.Join(directory, "ca.pem"), front.Certificate().Raw); err != nil {
		return 1, err
	}
	if err := control("PATCH", "/_sim/options", map[string]any{"check_replies": true}, nil); err != nil {
		return 1, err
	}
	// The cloud's time stands still but for the steps of until, so that no test depends on how
	// fast it runs.
	if err := control("POST", "/_sim/clock", map[string]any{"scale": 0}, nil); err != nil {
		return 1, err
	}
	code := m.Run()
	if code != 0 || testing.Short() || filtered() {
		return code, nil
	}
	return code, covered()
}

// launch starts a simulator with that world and returns where it listens.
func launch(world string) (string, func(), error) {
	program := os.Getenv("SIMULATOR")
	if program == "" {
		return "", nil, errors.New("SIMULATOR does not name the program; run these tests with `make test-sdk`")
	}
	child := exec.Command(program, "simulate", "cloud", "--cloud-bind-addr=127.0.0.1:0", "--world="+world)
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := child.Start(); err != nil {
		return "", nil, err
	}
	stop := func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); address != "" {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return address, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("the simulator ended before it said where it listens (%s)", child)
}

// trust makes a certificate the only root of this process. It must come before the first
// handshake, which reads the roots once and for all.
func trust(path string, certificate []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", path)
}

// filtered tells whether only some tests ran, after which nothing can be said on coverage.
func filtered() bool {
	return slices.ContainsFunc(os.Args, func(argument string) bool {
		value, found := strings.CutPrefix(argument, "-test.run=")
		return found && value != "" || strings.HasPrefix(argument, "-test.skip=")
	})
}

// covered fails when a simulated action was not driven to success in both signature versions,
// and when an answer departed from the published contract.
func covered() error {
	var actions []string
	if err := control("GET", "/_sim/actions", nil, &actions); err != nil {
		return err
	}
	driven := map[string]bool{}
	var missing []string
	for name := range succeeded {
		driven[name] = true
	}
	for _, action := range actions {
		for _, version := range []string{"v1", "v3"} {
			if !driven[action+" "+version] {
				missing = append(missing, action+" "+version)
			}
		}
	}
	var breaches []string
	if err := control("GET", "/_sim/breaches", nil, &breaches); err != nil {
		return err
	}
	fmt.Printf("%d simulated actions, %d calls not driven, %d breaches of the contract\n",
		len(actions), len(missing), len(breaches))
	if len(missing) > 0 {
		return fmt.Errorf("not driven to success:\n  %s", strings.Join(missing, "\n  "))
	}
	if len(breaches) > 0 {
		slices.Sort(breaches)
		return fmt.Errorf("answers that depart from the contract:\n  %s", strings.Join(slices.Compact(breaches), "\n  "))
	}
	return nil
}

// control speaks to the simulator's own interface.
func control(method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(method, simulator+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// until lets the cloud's time pass, as callers of an asynchronous service wait, until something
// has come to pass.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range 100 {
		if done() {
			return
		}
		if err := control("POST", "/_sim/clock", map[string]any{"step": "100ms"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("never came to pass: %s", what)
}

// now is the cloud's time.
func now(t testing.TB) time.Time {
	t.Helper()
	var answer struct{ Now time.Time }
	if err := control("GET", "/_sim/clock", nil, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Now
}

// calls returns the calls of one action, oldest first.
func calls(t *testing.T, product, action string) []logged {
	t.Helper()
	var all []logged
	if err := control("GET", "/_sim/calls?product="+product+"&action="+action, nil, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// fault spoils calls until the test ends.
func fault(t *testing.T, product, action string, times int, kind any) {
	t.Helper()
	body := map[string]any{"product": product, "action": action, "times": times, "kind": kind}
	if err := control("POST", "/_sim/faults", body, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := control("DELETE", "/_sim/faults", nil, nil); err != nil {
			t.Error(err)
		}
	})
}
