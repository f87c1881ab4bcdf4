// A Kubernetes control plane in one program, for tests: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl, and kwok in the place of kubelets. And an
// onlooker, which reads a cluster with the official client.
//
//	control-plane up              starts a control plane and stops it when its input closes
//	control-plane COMPONENT ...   is that component, with its own flags
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	names := append([]string{"up"}, componentNames()...)
	if len(os.Args) < 2 || !slices.Contains(names, os.Args[1]) {
		fmt.Fprintf(os.Stderr, "usage: control-plane {%s} [flags]\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	// From here on this program is what it was asked to be: components read os.Args.
	os.Args = os.Args[1:]
	if os.Args[0] != "up" {
		os.Exit(components[os.Args[0]]())
	}
	if err := up(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "control-plane: %v\n", err)
		os.Exit(1)
	}
}
