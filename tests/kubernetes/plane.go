package main

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// plane is a control plane below one folder.
type plane struct {
	dir     string
	server  string        // the API server's address
	client  *http.Client  // of an administrator
	running []*process    // in the order of their start
	ended   chan *process // those that ended without being asked to
}

func newPlane(dir string) *plane {
	return &plane{dir: dir, ended: make(chan *process, len(components))}
}

func (p *plane) path(name string) string {
	return filepath.Join(p.dir, name)
}

// start brings up one component after the other, and answers once a namespace has its default
// ServiceAccount: then pods can be made.
func (p *plane) start(stop context.Context) (Cluster, error) {
	none := Cluster{}
	limit, cancel := context.WithTimeout(stop, startLimit)
	defer cancel()
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return none, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return none, err
	}
	etcd, server := address("http", ports[0]), address("https", ports[1])
	if err := p.writeFiles(server); err != nil {
		return none, err
	}
	if err := p.launch("etcd", etcdFlags(p, etcd)...); err != nil {
		return none, err
	}
	if err := p.until(limit, "etcd is healthy", healthy(http.DefaultClient, etcd+"/health")); err != nil {
		return none, err
	}
	if err := p.launch("kube-apiserver", apiserverFlags(p, etcd, ports[1])...); err != nil {
		return none, err
	}
	p.server = server
	if p.client, err = p.adminClient(); err != nil {
		return none, err
	}
	if err := p.ready(limit); err != nil {
		return none, err
	}
	for _, rest := range []struct {
		name  string
		flags []string
	}{
		{"kube-controller-manager", controllerManagerFlags(p)},
		{"kube-scheduler", schedulerFlags(p)},
		{"kwok", kwokFlags(p)},
	} {
		if err := p.launch(rest.name, rest.flags...); err != nil {
			return none, err
		}
	}
	account := server + "/api/v1/namespaces/default/serviceaccounts/default"
	if err := p.until(limit, "the controller manager works", healthy(p.client, account)); err != nil {
		return none, err
	}
	return p.describe(), nil
}

func (p *plane) ready(limit context.Context) error {
	return p.until(limit, "the API server is ready", healthy(p.client, p.server+"/readyz"))
}

// halt stops one component, until it is resumed with the same flags.
func (p *plane) halt(name string) error {
	i := slices.IndexFunc(p.running, func(process *process) bool { return process.name == name })
	if i < 0 {
		return fmt.Errorf("there is no component %q", name)
	}
	p.running[i].stop()
	return nil
}

func (p *plane) resume(stop context.Context, name string) error {
	if err := p.halt(name); err != nil {
		return err
	}
	i := slices.IndexFunc(p.running, func(process *process) bool { return process.name == name })
	process, err := launch(name, p.dir, p.running[i].flags, p.ended)
	if err != nil {
		return err
	}
	p.running[i] = process
	if name != "kube-apiserver" {
		return nil
	}
	limit, cancel := context.WithTimeout(stop, startLimit)
	defer cancel()
	return p.ready(limit)
}

func (p *plane) describe() Cluster {
	pids := map[string]int{}
	for _, process := range p.running {
		pids[process.name] = process.command.Process.Pid
	}
	return Cluster{
		Server:     p.server,
		Kubeconfig: p.path("admin.kubeconfig"),
		CA:         p.path("ca.crt"),
		AuditLog:   p.path("audit.log"),
		Kubectl:    program("kubectl"),
		Dir:        p.dir,
		Pids:       pids,
	}
}

func (p *plane) launch(name string, flags ...string) error {
	process, err := launch(name, p.dir, flags, p.ended)
	if err == nil {
		p.running = append(p.running, process)
	}
	return err
}

// until asks again and again, as long as everything runs.
func (p *plane) until(limit context.Context, what string, is func() error) error {
	for {
		err := is()
		if err == nil {
			return nil
		}
		select {
		case failed := <-p.ended:
			return failed.failure()
		case <-limit.Done():
			return fmt.Errorf("waited until %s: %w (last answer: %v)", what, context.Cause(limit), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends everything in the reverse order of its start, so that each finds what it needs to end:
// an API server whose etcd is gone does not.
func (p *plane) stop() {
	for i := len(p.running) - 1; i >= 0; i-- {
		p.running[i].stop()
	}
	p.running = nil
}

func healthy(client *http.Client, url string) func() error {
	return func() error {
		answer, err := client.Get(url)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s", url, answer.Status)
		}
		return nil
	}
}

func address(scheme string, port int) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
}

func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // all at the end, so that no port comes twice
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
